import Units

/// A stage as one HTML file, with the timeline of each run. The file has no script and asks for nothing.
package enum HTMLReport {
    static let rowLimit = 1_000
    /// The most runs without squares.
    static let glanceRows = 5
    static let openRows = 20
    /// The bytes of sections after which a failed run gets no further one: 4 MB.
    static let failedLimit = 4_000_000
    /// The bytes of sections after which a run that passed gets no further one: 1 MB.
    static let passedLimit = 1_000_000
    /// The most characters of a sentence or a name.
    static let textLimit = 2_000

    /// The document, below 8 MB whatever the number of runs: sections that exceed its limits are left out, those of
    /// runs that passed first, and the document says so.
    package static func text(of report: StageReport) -> String {
        let sections = sections(of: report)
        let title = "\(report.name.shortened(to: 200)): \(report.verdict)"
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
            <title>\(title.xmlLine)</title>
            <link rel="icon" href="data:image/svg+xml,\(icon(good: report.hasPassed))">
            <style>
            \(style)
            </style>
            </head>
            <body>
            <svg class="signs" aria-hidden="true">\(ReportStyle.signs)</svg>
            \(head(report))
            <main>
            \(table(report, linked: Set(sections.map(\.index))))
            \(sections.map(\.text).joined(separator: "\n"))
            \(omission(report, sections: sections))
            </main>
            <footer>Written by Squall \(report.version.xmlLine). A mark, a phase and the throughput show their figures \
            below the pointer.</footer>
            </body>
            </html>

            """
    }

    /// The sections of the runs in the order of the matrix, as many as the limits allow.
    private static func sections(of report: StageReport) -> [(index: Int, text: String)] {
        var (size, sections): (Int, [(index: Int, text: String)]) = (0, [])
        for (isFailure, limit) in [(true, failedLimit), (false, passedLimit)] {
            for (index, run) in report.runs.enumerated() where run.isFailure == isFailure {
                if size > limit { break }
                let text = section(run, index: index)
                size += text.utf8.count
                sections.append((index, text))
            }
        }
        return sections.sorted { $0.index < $1.index }
    }

    /// What the document leaves out.
    private static func omission(_ report: StageReport, sections: [(index: Int, text: String)]) -> String {
        let shown = sections.count { report.runs[$0.index].isFailure }
        let failed = report.failures - shown
        let passed = report.runs.count - report.failures - (sections.count - shown)
        var sentences: [String] = []
        if failed > 0 {
            sentences.append("The timelines of \(ReportText.count(failed, "further failed run")) are left out.")
        }
        if passed > 0 {
            sentences.append("The timelines of \(ReportText.count(passed, "further run")) that passed are left out.")
        }
        return sentences.isEmpty ? "" : "<p class=\"left\">\(sentences.joined(separator: " "))</p>"
    }

    private static func icon(good: Bool) -> String {
        let sign = good ? "M6 12l4 4 8-8" : "M7 7l10 10M17 7L7 17"
        return "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24'%3E%3Ccircle cx='12' cy='12' r='11' "
            + "fill='%23\(good ? "17774a" : "c8202f")'/%3E%3Cpath d='\(sign)' "
            + "fill='none' stroke='%23fff' stroke-width='3'/%3E%3C/svg%3E"
    }

    static func sentence(_ text: String) -> String { text.shortened(to: textLimit).xmlLine }

    private static func head(_ report: StageReport) -> String {
        let good = report.hasPassed
        let times = [("began", report.began), ("took", ReportText.time(report.duration))]
        let items = times.map { "<div><dt>\($0.0)</dt><dd>\(sentence($0.1))</dd></div>" }
        let expectations = report.expectations.map { "<dd><code>\(sentence($0))</code></dd>" }.joined()
        return """
            <header>
            <p class="brand"><svg viewBox="0 0 24 24" aria-hidden="true">\
            <path d="M2 8h12a3 3 0 1 0-3-3M2 13h17a3 3 0 1 1-3 3M2 18h8"/></svg>Squall, chaos stage</p>
            <h1>\(sentence(report.name))</h1>
            <p class="verdict \(good ? "good" : "bad")">\(good ? "✓" : "✗") \(report.verdict)</p>
            <pre>\(sentence(ReportText.command(report.command)))</pre>
            <dl class="facts">\(items.joined())\
            \(expectations.isEmpty ? "" : "<div><dt>expected</dt>\(expectations)</div>")</dl>
            </header>
            """
    }

    private static func table(_ report: StageReport, linked: Set<Int>) -> String {
        guard !report.runs.isEmpty else { return "" }
        let hasWaste = report.runs.contains { $0.measurements.waste != nil }
        let heads = (ReportText.columns + (hasWaste ? ["waste"] : [])).map {
            "<th role=\"columnheader\" scope=\"col\">\($0)</th>"
        }
        let rows = report.runs.prefix(rowLimit).enumerated().map { index, run in
            row(run, index: index, isLinked: linked.contains(index), hasWaste: hasWaste)
        }
        let further = report.runs.count - rows.count
        let left = further > 0 ? "<p class=\"left\">\(ReportText.count(further, "further run")) left out.</p>" : ""
        // With many runs their squares are enough to begin with.
        let isLong = report.runs.count > openRows
        let (begin, end) =
            isLong
            ? ("<details class=\"table\"><summary>The figures of each run</summary>", "</details>") : ("", "")
        // Roles, because a narrow window shows the rows as blocks, which would take the table's meaning from it.
        return """
            <section class="card">
            <h2>Runs</h2>
            \(matrix(report, linked: linked))
            \(begin)<table role="table">
            <thead role="rowgroup"><tr role="row">\(heads.joined())</tr></thead>
            <tbody role="rowgroup">
            \(rows.joined(separator: "\n"))
            </tbody>
            </table>\(left)\(end)
            </section>
            """
    }

    /// A square for each run, a row for each profile; nothing for as many runs as the table shows at a glance.
    private static func matrix(_ report: StageReport, linked: Set<Int>) -> String {
        guard report.runs.count > glanceRows else { return "" }
        var (profiles, cells): ([String], [String: [String]]) = ([], [:])
        for (index, run) in report.runs.prefix(rowLimit).enumerated() {
            let text = "\(run.result == .passed ? "" : "\(run.sign) ")\(run.seed)"
            let kind = "class=\"cell \(run.style)\""
            let label = "aria-label=\"seed \(run.seed) \(run.result.rawValue)\""
            let cell =
                linked.contains(index)
                ? "<a \(kind) \(label) href=\"#run-\(index + 1)\">\(text)</a>"
                : "<span \(kind) role=\"img\" \(label)>\(text)</span>"
            if cells[run.profile] == nil { profiles.append(run.profile) }
            cells[run.profile, default: []].append(cell)
        }
        let rows = profiles.map { profile in
            "<dt>\(profile.shortened(to: 60).xmlLine)</dt><dd>\(cells[profile, default: []].joined())</dd>"
        }
        return "<p class=\"figures\">A square for each run, with its seed.</p>\n"
            + "<dl class=\"matrix\">\(rows.joined(separator: "\n"))</dl>"
    }

    private static func row(_ run: RunReport, index: Int, isLinked: Bool, hasWaste: Bool) -> String {
        let figures = run.measurements
        let name = run.name.shortened(to: 200).xmlLine
        var cells = Array(zip(ReportText.columns.dropFirst(4), ReportText.figures(figures)))
        if hasWaste { cells.append(("waste", figures.waste.map(ReportText.percent) ?? "–")) }
        let figureCells = cells.map { "<td role=\"cell\" data-label=\"\($0.0)\">\($0.1)</td>" }
        return "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">"
            + (isLinked ? "<a href=\"#run-\(index + 1)\">\(name)</a>" : name) + "</th>"
            + "<td role=\"cell\" class=\"\(run.style)\">\(run.sign) \(run.result.rawValue)</td>"
            + "<td role=\"cell\">\(run.ending.text.xmlLine)</td>"
            + "<td role=\"cell\">\(ReportText.time(figures.time))</td>\(figureCells.joined())</tr>"
    }
}
