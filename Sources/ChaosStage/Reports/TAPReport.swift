import Units

/// A stage in the Test Anything Protocol, version 14: a test point for each run, with a YAML block for each failure.
package enum TAPReport {
    /// The most bytes of output of a failed run: 16 KiB.
    static let outputLimit = 16_384

    /// The document. Control characters are shown as `\u{…}`.
    package static func text(of report: StageReport) -> String {
        var lines = ["TAP version 14", "1..\(report.runs.count)"]
        let verdict = "\(report.verdict), \(ReportText.time(report.duration))"
        lines.append("# \(report.name.visibleLine): \(verdict)")
        for (index, run) in report.runs.enumerated() {
            let skip = run.isFailure || run.result == .passed ? "" : " # SKIP \(description(run.headline))"
            lines.append("\(run.isFailure ? "not ok" : "ok") \(index + 1) - \(description(run.name))\(skip)")
            if run.isFailure { lines += diagnostics(of: run) }
            lines += run.coverageLines.map { "# \($0.visibleLine)" }
        }
        if report.wasInterrupted { lines.append("Bail out! \(RunReport.interruption)") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A description on one line: a number sign would begin a directive such as `# SKIP`.
    private static func description(_ text: String) -> String {
        text.visibleLine.escaping(["\\": "\\\\", "#": "\\#"])
    }

    /// The YAML block of a failed run, between `---` and `...`.
    private static func diagnostics(of run: RunReport) -> [String] {
        let time = max(0, run.measurements.time.nanoseconds / 1_000_000)
        var lines = [
            "---",
            "message: \(scalar(run.findings.first ?? ""))",
            "severity: \(run.result == .empty ? "empty" : "fail")",
            "duration_ms: \(time)",
            "profile: \(scalar(run.profile))",
            "seed: \(run.seed)",
            "ending: \(scalar(run.ending.text))",
            "replay: \(scalar(run.replay))",
            "reasons:",
        ]
        lines += run.findings.map { "  - \(scalar($0))" }
        if !run.notes.isEmpty { lines += ["notes:"] + run.notes.map { "  - \(scalar($0))" } }
        if let output = run.outputEnd(limit: outputLimit) {
            // Quoted line by line: parsers end a block at dots, however far in they are.
            lines.append("output_bytes_left_out: \(output.dropped)")
            lines.append("output:")
            let shown = output.text.split(separator: "\n", omittingEmptySubsequences: false)
            lines += shown.map { "  - \(scalar(String($0)))" }
        }
        lines.append("...")
        return lines.map { "  \($0)" }
    }

    /// A text as a scalar of YAML in double quotes. Characters that YAML doesn't allow in a stream are replaced by
    /// U+FFFD.
    private static func scalar(_ text: String) -> String { "\"\(text.visibleLines.escaping(signs))\"" }

    private static let signs: [Unicode.Scalar: String] = [
        "\\": "\\\\", "\"": "\\\"", "\n": "\\n", "\t": "\\t", "\u{FFFE}": "\u{FFFD}", "\u{FFFF}": "\u{FFFD}",
    ]
}
