import Units

/// A stage for GitHub Actions: a summary of the job, and annotations.
package enum GitHubReport {
    /// The most bytes of a summary: 900,000. GitHub takes 1 MiB from each step.
    package static let summaryLimit = 900_000
    /// The most annotations: GitHub shows 10 errors of a step.
    package static let annotationLimit = 10
    /// The most bytes of output of a failed run in the summary: 4 KiB.
    static let outputLimit = 4_096
    /// The most sentences about a failed run.
    static let sentenceLimit = 50
    /// The most characters of a name or a reason.
    static let textLimit = 1_000
    /// The bytes that stay for the sentence about what is left out.
    private static let reserve = 200

    /// The stage in GitHub's Markdown, for the file that `GITHUB_STEP_SUMMARY` names: a table of the runs, and for each
    /// failed run its reasons, the line that repeats it and the end of its output. What exceeds `summaryLimit` is left
    /// out, and the summary says so.
    package static func summary(of report: StageReport) -> String {
        let sign = report.hasPassed ? "✅" : "❌"
        var text = "## \(sign) \(markdown(report.name)): \(report.verdict)\n\n"
        text += "\(fence(ReportText.command(report.command).shortened(to: 4 * textLimit)))\n"
        let facts = ["\(ReportText.time(report.duration))", "Squall \(markdown(report.version))"]
        text += facts.joined(separator: " · ") + "\n\n"
        text += "| \(ReportText.columns.joined(separator: " | ")) |\n|---|---|---|--:|--:|--:|--:|--:|--:|\n"

        let shown = add(report.runs, as: row, to: &text, limit: summaryLimit / 2)
        if shown < report.runs.count {
            text += "\n\(ReportText.count(report.runs.count - shown, "further run")) left out of the table.\n"
        }
        let failed = report.runs.filter(\.isFailure)
        let told = add(failed, as: section, to: &text, limit: summaryLimit - reserve)
        if told < failed.count {
            text += "\nThe reasons of \(ReportText.count(failed.count - told, "further failed run")) are left out.\n"
        }
        return text
    }

    /// Adds runs as long as `text` stays within `limit` bytes; returns their number.
    private static func add(
        _ runs: [RunReport],
        as form: (RunReport) -> String,
        to text: inout String,
        limit: Int
    ) -> Int {
        var size = text.utf8.count
        for (index, run) in runs.enumerated() {
            let part = form(run)
            size += part.utf8.count
            if size > limit { return index }
            text += part
        }
        return runs.count
    }

    private static func row(_ run: RunReport) -> String {
        let cells =
            [markdown(run.name), mark(run), markdown(run.ending.text), ReportText.time(run.measurements.time)]
            + ReportText.figures(run.measurements)
        return "| \(cells.joined(separator: " | ")) |\n"
    }

    /// The result in a cell of the table.
    private static func mark(_ run: RunReport) -> String {
        let word = run.result.rawValue
        return run.result == .passed ? "✅ \(word)" : run.isFailure ? "❌ **\(word)**" : "⚪ \(word)"
    }

    private static func section(_ run: RunReport) -> String {
        var text = "\n### ❌ \(markdown(run.name))\n\n"
        let sentences = run.findings + run.coverageLines + run.notes
        text += sentences.prefix(sentenceLimit).map { "- \(markdown($0))\n" }.joined()
        let rest = sentences.count - sentenceLimit
        if rest > 0 { text += "- \(ReportText.count(rest, "further sentence")) left out\n" }
        if !run.replay.isEmpty { text += "\nRepeat it:\n\n\(fence(ReportText.replay(run)))" }
        if let output = run.outputEnd(limit: outputLimit) {
            text += "\n<details><summary>\(output.heading)</summary>\n\n"
            text += "\(fence(output.text))\n</details>\n"
        }
        return text
    }

    /// A text on one line in which no character is markup of Markdown, of its tables or of HTML.
    static func markdown(_ text: String) -> String {
        let escaped = text.shortened(to: textLimit).escaping(markup)
        // A sign or a number that would begin a list.
        let digits = escaped.prefix { ("0"..."9").contains($0) }
        let rest = escaped.dropFirst(digits.count)
        let isItem = digits.isEmpty ? rest.hasPrefix("-") || rest.hasPrefix("+") : rest.hasPrefix(".")
        return isItem ? "\(digits)\\\(rest)" : escaped
    }

    /// Every sign of markup inside a line. A backslash in front of another character stands for itself, so that it
    /// needs one as well.
    private static let markup: [Unicode.Scalar: String] = {
        let signs: [Unicode.Scalar] = ["\\", "`", "*", "_", "[", "]", "(", ")", "|", "~", "#", "!", "$", "@", ":"]
        let entities: [Unicode.Scalar: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;"]
        return entities.merging(signs.map { ($0, "\\\($0)") }) { $1 }
    }()

    /// A text as a block of code, between fences that are longer than any row of backticks in it.
    static func fence(_ text: String) -> String {
        var (longest, row) = (0, 0)
        for scalar in text.unicodeScalars {
            row = scalar == "`" ? row + 1 : 0
            longest = max(longest, row)
        }
        let marks = String(repeating: "`", count: max(3, longest + 1))
        return "\(marks)text\n\(text.visibleLines)\n\(marks)\n"
    }

    /// The workflow commands that annotate the run of the workflow, a line each, without line feeds: an error for each
    /// failed run. With more than `annotationLimit` of them, the last says how many more there are.
    package static func annotations(of report: StageReport) -> [String] {
        let failed = report.runs.filter(\.isFailure)
        let shown = failed.count > annotationLimit ? annotationLimit - 1 : failed.count
        var lines = failed.prefix(shown).map { run in
            var sentences = (run.findings + run.notes).prefix(sentenceLimit).map { $0.shortened(to: textLimit) }
            if !run.replay.isEmpty { sentences.append("repeat it: \(ReportText.replay(run).visibleLine)") }
            let message = sentences.joined(separator: "\n")
            return "::error title=\(property("\(report.name): \(run.name)"))::\(data(message))"
        }
        if failed.count > shown {
            let rest = "\(ReportText.count(failed.count - shown, "further run")) failed"
            lines.append("::error title=\(property(report.name))::\(data(rest))")
        }
        return lines
    }

    /// The text of a workflow command, escaped as the runner unescapes it.
    private static func data(_ text: String) -> String {
        text.visibleLines.escaping(["%": "%25", "\r": "%0D", "\n": "%0A"])
    }

    /// A property of a workflow command, escaped as the runner unescapes it.
    private static func property(_ text: String) -> String {
        data(text.shortened(to: textLimit)).escaping([":": "%3A", ",": "%2C"])
    }
}
