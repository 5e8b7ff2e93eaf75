import ChaosStage
import TestStreams
import Testing

/// The JUnit file as a stock parser reads it.
struct JUnitReportTests {
    @Test func `a suite has a case for each run, with its time in seconds`() throws {
        let document = ParsedXML(JUnitReport.text(of: SampleReports.matrix))
        #expect(document.problem == nil)
        let suite = try #require(document["testsuite"].first)
        #expect(suite.attributes["name"] == "download survives Wi-Fi")
        #expect(suite.attributes["tests"] == "5" && suite.attributes["failures"] == "3")
        #expect(suite.attributes["errors"] == "0" && suite.attributes["skipped"] == "0")
        #expect(suite.attributes["time"] == "102.000")
        #expect(suite.attributes["timestamp"] == "2026-03-14T15:09:26")
        let cases = document["testcase"]
        #expect(cases.map { $0.attributes["name"] }.first == "wifi-walkaway, seed 1")
        #expect(cases.map { $0.attributes["time"] } == ["14.000", "14.000", "14.000", "60.000", "0.000"])
        #expect(cases.allSatisfy { $0.attributes["classname"] == "download survives Wi-Fi" })
    }

    @Test func `a failure has its first reason as message, and all reasons, notes and the replay line as text`() throws
    {
        let document = ParsedXML(JUnitReport.text(of: SampleReports.matrix))
        let failures = document["failure"]
        #expect(failures.count == 3)
        #expect(failures[0].attributes["message"] == "expected “exit == 0”: exit is 1")
        let lines = failures[0].text.split(separator: "\n")
        #expect(lines[1] == "expected “resumptions >= 1”: resumptions is 0")
        #expect(lines[2] == "1 fault still fails it: gone/outage, connection 1")
        #expect(lines[3].hasPrefix("repeat it: squall test --profile wifi-walkaway --seed 3 "))
        #expect(lines[4] == "the command: exit 1")
    }

    @Test func `each case has its profile and its seed as properties`() {
        let properties = ParsedXML(JUnitReport.text(of: SampleReports.matrix))["property"]
        let seeds = properties.filter { $0.attributes["name"] == "seed" }.map { $0.attributes["value"] }
        #expect(seeds == ["1", "2", "3", "1", "0"])
        let profiles = properties.filter { $0.attributes["name"] == "profile" }.map { $0.attributes["value"] }
        #expect(Set(profiles) == ["wifi-walkaway", "congested, failover", "perfect"])
    }

    @Test func `the end of the output is there, and says how much is left out before it`() {
        let outputs = ParsedXML(JUnitReport.text(of: SampleReports.matrix))["system-out"].map(\.text)
        #expect(outputs.count == 4, "the run without output has none")
        #expect(outputs[0] == "1 passed in 13.71s")
        #expect(outputs[2].hasPrefix("[12,345 bytes before this are left out]\ntests/test_download.py F"))
        #expect(outputs[2].contains(#"\u{1b}[31m1 failed\u{1b}[0m"#), "a control sequence is shown, not passed on")
    }

    @Test func `text from outside can't leave its place, and what XML forbids is replaced`() {
        let text = JUnitReport.text(of: SampleReports.hostileStage)
        let document = ParsedXML(text)
        #expect(document.problem == nil)
        #expect(document["script"].isEmpty && document["img"].isEmpty)
        #expect(document["testcase"].count == 2)
        let message = document["failure"][0].attributes["message"] ?? ""
        #expect(message.hasPrefix("</script><img src=x onerror=alert(1)> & \"q\" 'a' "))
        #expect(
            message.contains(#"\u{0}"#) && message.contains("\u{fffd}") && !message.unicodeScalars.contains("\u{fffe}")
        )
        #expect(document["testsuite"][0].attributes["timestamp"] == nil, "a time that is none is left out")
        let output = document["system-out"][0].text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(output.contains("  first"), "a carriage return before a line feed belongs to it")
    }

    @Test func `a stage without runs is a suite without cases`() {
        let document = ParsedXML(JUnitReport.text(of: SampleReports.stage([])))
        #expect(document.problem == nil && document["testcase"].isEmpty)
        #expect(document["testsuite"].first?.attributes["tests"] == "0")
    }

    @Test func `a run that passed has less output than one that failed`() {
        let passed = SampleReports.hour(seed: 1, reasons: [])
        let text = JUnitReport.text(of: SampleReports.stage([passed, SampleReports.hour(seed: 2)]))
        let sizes = ParsedXML(text)["system-out"].map { $0.text.utf8.count }
        #expect(sizes[0] <= 8_192 + 60 && sizes[0] > 7_000)
        #expect(sizes[1] <= RunReport.outputLimit + 60 && sizes[1] > 60_000)
    }
}
