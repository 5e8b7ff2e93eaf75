import Units

/// A stage as JUnit XML, which Jenkins, GitLab and actions of GitHub read: a test case for each run.
package enum JUnitReport {
    /// The document: one test suite with the name of the stage. Times are in seconds with three decimals. Characters
    /// that XML 1.0 forbids are shown as `\u{…}` or replaced by U+FFFD.
    package static func text(of report: StageReport) -> String {
        let skipped = report.runs.count { skipReason($0) != nil }
        let counts =
            "tests=\"\(report.runs.count)\" failures=\"\(report.failures)\" errors=\"0\" skipped=\"\(skipped)\" "
            + "time=\"\(ReportText.thousandths(report.duration))\""
        let name = report.name.xmlLine
        let properties =
            [("squall.version", report.version), ("command", ReportText.command(report.command))]
            + report.expectations.map { ("expectation", $0) }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="squall test" \(counts)>
              <testsuite name="\(name)" \(counts)\(timestamp(report.began))>
            \(self.properties(properties, indent: "    "))
            \(report.runs.map { testCase($0, stage: name) }.joined())  </testsuite>
            </testsuites>

            """
    }

    /// The attribute for a begin in UTC: the schema of Ant's JUnit task has times without fraction and zone.
    private static func timestamp(_ began: String) -> String {
        let isTime =
            began.utf8.count >= 19
            && zip(began.utf8, "0000-00-00T00:00:00".utf8).allSatisfy { byte, pattern in
                pattern == UInt8(ascii: "0") ? (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) : byte == pattern
            }
        return isTime ? " timestamp=\"\(began.prefix(19))\"" : ""
    }

    private static func properties(_ properties: [(name: String, value: String)], indent: String) -> String {
        let lines = properties.map { property in
            "\(indent)  <property name=\"\(property.name)\" value=\"\(property.value.xmlLine)\"/>"
        }
        return (["\(indent)<properties>"] + lines + ["\(indent)</properties>"]).joined(separator: "\n")
    }

    /// Why a run counts as skipped: it has no end, or shows nothing although the stage passes with it; `nil` for others.
    private static func skipReason(_ run: RunReport) -> String? {
        switch run.result {
        case .skipped: RunReport.interruption
        case .empty: run.isFailure ? nil : run.findings.first
        case .passed, .failed: nil
        }
    }

    private static func testCase(_ run: RunReport, stage: String) -> String {
        var lines = [
            "    <testcase name=\"\(run.name.xmlLine)\" classname=\"\(stage)\" "
                + "time=\"\(ReportText.thousandths(run.measurements.time))\">",
            properties(
                [("profile", run.profile), ("seed", "\(run.seed)")] + run.coverageLines.map { ("coverage", $0) },
                indent: "      "
            ),
        ]
        if let reason = skipReason(run) {
            lines.append("      <skipped message=\"\(reason.xmlLine)\"/>")
        } else if let reason = run.findings.first {
            let replay = run.replay.isEmpty ? [] : ["repeat it: \(run.replay)"]
            let sentences = (run.findings + run.notes + replay + ["the command: \(run.ending.text)"]).map(\.xmlLines)
            let type = run.result == .empty ? "squall.empty" : "squall"
            lines.append("      <failure message=\"\(reason.xmlLine)\" type=\"\(type)\">")
            lines[lines.count - 1] += "\(sentences.joined(separator: "\n"))</failure>"
        }
        if let output = run.outputEnd() {
            let dropped = "[\(Formatting.grouped(output.dropped)) bytes before this are left out]\n"
            lines.append("      <system-out>\(output.dropped > 0 ? dropped : "")\(output.text.xmlLines)</system-out>")
        }
        lines.append("    </testcase>\n")
        return lines.joined(separator: "\n")
    }
}
