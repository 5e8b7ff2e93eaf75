import ChaosStage
import TestStreams
import Testing

/// The words of the reports.
struct ReportTextTests {
    @Test(arguments: [
        (RunReport.Ending.exit(0), "exit 0"), (.exit(3), "exit 3"), (.signal(9), "signal 9 (SIGKILL)"),
        (.signal(40), "signal 40"), (.timeLimit(.seconds(30)), "stopped at the time limit of 30 s"),
        (.timeLimit(.milliseconds(50)), "stopped at the time limit of 50 ms"),
    ])
    func `an ending says how the command ended`(ending: RunReport.Ending, text: String) {
        #expect(ending.text == text)
    }

    @Test(arguments: [
        ([], "no run"), ([true], "the run passed"), ([false], "the run failed"), ([true, true], "both runs passed"),
        ([true, true, true], "all 3 runs passed"),
        ([true, false, false], "2 of 3 runs failed"),
    ])
    func `the verdict counts the runs`(passed: [Bool], verdict: String) {
        let runs = passed.map { SampleReports.walk(seed: 1, reasons: $0 ? [] : ["no"]) }
        #expect(HTMLReport.text(of: SampleReports.stage(runs)).contains(" \(verdict)</p>"))
    }

    @Test func `the end of an output begins with a line, and no character is torn`() {
        var run = SampleReports.walk(seed: 1)
        run.droppedOutput = 0
        // 8 KiB end within a character of two bytes; then with a line.
        func report() -> String { JUnitReport.text(of: SampleReports.stage([run])) }
        run.output = String(repeating: "é", count: 5_000)
        #expect(report().contains("[1,808 bytes before this are left out]\néé"))
        run.output += "x"
        #expect(report().contains("[1,810 bytes before this are left out]\néé"), "the limit is within a character")
        run.output = String(repeating: "123456789\n", count: 1_000)
        #expect(report().contains(" bytes before this are left out]\n123456789\n"))
    }

    @Test func `an argument that a shell would take apart is in quotes`() {
        var stage = SampleReports.stage([SampleReports.walk(seed: 1)])
        stage.command = ["sh", "-c", "echo it's; exit 3", "", "{origin}"]
        let command = ParsedXML(JUnitReport.text(of: stage))["property"].first { $0.attributes["name"] == "command" }
        #expect(command?.attributes["value"] == #"sh -c 'echo it'\''s; exit 3' '' {origin}"#)
    }

    @Test
    func `an argument with a line feed or another hidden character is on the line as well, and no brace is a list`() {
        let arguments = ["it's\n\\\ta", "\u{1B}[1m\u{202E}é", "{1..2}", "{proxy}/a.b"]
        #expect(
            ReportText.command(arguments) == #"$'it\'s\n\\\ta' $'\033[1m\342\200\256é' '{1..2}' {proxy}/a.b"#
        )
    }
}
