import ChaosStage
import Testing

/// The lines of a TAP stream.
struct TAPReportTests {
    private func lines(_ report: StageReport) -> [Substring] {
        TAPReport.text(of: report).split(separator: "\n", omittingEmptySubsequences: false)
    }

    @Test(arguments: [0, 1, 2, 17])
    func `the plan counts the test points`(count: Int) {
        let lines = lines(SampleReports.stage((0..<count).map { SampleReports.walk(seed: UInt64($0)) }))
        #expect(lines[0] == "TAP version 14")
        #expect(lines[1] == "1..\(count)")
        let points = lines.filter { $0.hasPrefix("ok ") || $0.hasPrefix("not ok ") }
        #expect(points.count == count)
        for (index, point) in points.enumerated() {
            #expect(point == "ok \(index + 1) - wifi-walkaway, seed \(index)")
        }
    }

    @Test func `a failure has a block with its reasons and the line that repeats it`() throws {
        let lines = lines(SampleReports.matrix)
        let first = try #require(lines.firstIndex(of: "not ok 3 - wifi-walkaway, seed 3"))
        #expect(lines[first + 1] == "  ---")
        let end = try #require(lines[first...].firstIndex(of: "  ..."))
        let block = lines[first..<end]
        #expect(block.contains("  message: \"expected “exit == 0”: exit is 1\""))
        #expect(block.contains("    - \"expected “resumptions >= 1”: resumptions is 0\""))
        #expect(block.contains("  seed: 3"))
        #expect(block.contains { $0.hasPrefix("  replay: \"squall test --profile wifi-walkaway --seed 3 ") })
        #expect(block.contains("  output_bytes_left_out: 12345"))
        #expect(block.contains("  output:") && block.contains("    - \"tests/test_download.py F\""))
    }

    @Test func `a run that passed has no block`() {
        let text = TAPReport.text(of: SampleReports.stage([SampleReports.walk(seed: 1)]))
        #expect(!text.contains("---"))
    }

    @Test func `text from outside begins no directive, no line and no end of a block`() throws {
        let lines = lines(SampleReports.hostileStage)
        #expect(lines.filter { $0.hasPrefix("not ok ") }.count == 1)
        #expect(lines.filter { $0 == "  ..." }.count == 1, "the dots in the output are in quotes")
        #expect(lines.contains("    - \"...\""))
        let point = try #require(lines.first { $0.hasPrefix("not ok ") })
        #expect(!point.unicodeScalars.contains("\u{1b}"))
        var isEscaped = false
        for scalar in point.unicodeScalars {
            if scalar == "#" { #expect(isEscaped, "a bare number sign would begin a directive") }
            isEscaped = scalar == "\\" && !isEscaped
        }
        for line in lines where line.hasPrefix("  message: ") {
            let value = line.dropFirst("  message: ".count).unicodeScalars
            #expect(value.first == "\"" && value.last == "\"")
            var (open, escape) = (0, false)
            for scalar in value {
                if scalar == "\"", !escape { open += 1 }
                escape = scalar == "\\" && !escape
            }
            #expect(open == 2, "a quotation mark inside is escaped, even below a combining mark")
        }
    }
}
