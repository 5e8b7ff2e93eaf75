import ChaosStage
import Testing

/// The summary and the annotations of a job.
struct GitHubReportTests {
    @Test func `the summary has a row for each run, and a section for each failure`() {
        let text = GitHubReport.summary(of: SampleReports.matrix)
        #expect(text.hasPrefix("## ❌ download survives Wi-Fi: 3 of 5 runs failed\n"))
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }
        #expect(rows.count == 6, "with the head")
        #expect(rows[1].hasPrefix("| wifi-walkaway, seed 1 | ✅ passed | exit 0 | 14.0 s | "))
        #expect(rows.allSatisfy { $0.count { $0 == "|" } == 10 })
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("### ") }.count == 3)
        #expect(text.contains("\n```text\nsquall test --profile wifi-walkaway --seed 3 "))
        #expect(text.contains("- expected “exit == 0”\\: exit is 1\n"))
    }

    @Test func `text from outside is no markup`() throws {
        let text = GitHubReport.summary(of: SampleReports.hostileStage)
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
        let row = try #require(text.split(separator: "\n").first { $0.contains("**failed**") })
        var (cells, escaped) = (0, false)
        for scalar in row.unicodeScalars {
            if scalar == "|", !escaped { cells += 1 }
            if scalar == "`" || scalar == "[" { #expect(escaped) }
            #expect(scalar != "<")
            escaped = scalar == "\\" && !escaped
        }
        #expect(cells == 10)
    }

    @Test func `a fence is longer than any row of backticks in its block`() {
        let text = GitHubReport.summary(of: SampleReports.hostileStage)
        var fence: Substring?
        var outside: [Substring] = []
        for line in text.split(separator: "\n") {
            let marks = line.prefix { $0 == "`" }
            if let open = fence {
                if marks.count >= open.count, marks.count == line.count { fence = nil }
            } else if marks.count >= 3 {
                fence = marks
            } else {
                outside.append(line)
            }
        }
        #expect(fence == nil)
        #expect(!outside.contains { $0.contains("<img") }, "every block is closed by its fence only")
        #expect(!outside.contains { $0.hasPrefix("::error") })
    }

    @Test(arguments: ["- a", "+ a", "1. a", "12. a"])
    func `a reason that looks like an item of a list is a text`(reason: String) {
        let text = GitHubReport.summary(of: SampleReports.stage([SampleReports.walk(seed: 1, reasons: [reason])]))
        #expect(!text.contains("\n- \(reason)\n"))
        let sign = reason.firstIndex { !$0.isNumber } ?? reason.startIndex
        #expect(text.contains("\n- \(reason[..<sign])\\\(reason[sign...])\n"))
    }

    @Test func `the summary stays below GitHub's limit, and says what is left out`() {
        var run = SampleReports.hour(seed: 1)
        run.profile = String(repeating: "long|", count: 500)
        run.reasons = (0..<20).map { _ in String(repeating: "<&>", count: 1_000) }
        let text = GitHubReport.summary(of: SampleReports.stage(Array(repeating: run, count: 1_500)))
        #expect(text.utf8.count <= GitHubReport.summaryLimit)
        #expect(text.utf8.count > GitHubReport.summaryLimit / 2)
        #expect(text.contains(" further runs left out of the table."))
        #expect(text.contains(" further failed runs are left out."))
    }

    @Test(arguments: [0, 1, 9, 10, 11, 40])
    func `there are at most as many annotations as GitHub shows`(failures: Int) {
        let runs = (0..<failures).map { SampleReports.walk(seed: UInt64($0), reasons: ["reason"]) }
        let lines = GitHubReport.annotations(of: SampleReports.stage(runs + [SampleReports.walk(seed: 99)]))
        #expect(lines.count == min(failures, 10))
        #expect(lines.allSatisfy { $0.hasPrefix("::error title=download survives Wi-Fi") })
        if failures > 10 { #expect(lines.last?.hasSuffix("::\(failures - 9) further runs failed") == true) }
    }

    @Test func `an annotation is one line, and its title has no sign of a command`() throws {
        var run = SampleReports.walk(seed: 1, reasons: ["100 % of a\nsecond line", "::error::c"])
        run.notes = []
        let lines = GitHubReport.annotations(of: SampleReports.stage([run], name: "a: b, 5 %"))
        let replay =
            "repeat it: squall test --profile wifi-walkaway --seed 1 --upstream 127.0.0.1:8000 --expect "
            + "'exit == 0 && waste < 5 %25' -- python3 -m pytest tests/test_download.py --url {origin}"
        #expect(
            lines == [
                "::error title=a%3A b%2C 5 %25%3A wifi-walkaway%2C seed 1::100 %25 of a\\u{a}second line%0A::error::c%0A"
                    + replay
            ]
        )
        run.replay += String(repeating: "x", count: 2_000)
        let long = GitHubReport.annotations(of: SampleReports.stage([run]))
        #expect(long.first?.hasSuffix(String(repeating: "x", count: 2_000)) == true)
        for line in GitHubReport.annotations(of: SampleReports.hostileStage) {
            #expect(!line.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f })
        }
    }
}
