import Units

/// The section of a run: its figures, why it failed, its timeline, how to repeat it, and the end of its output.
extension HTMLReport {
    static func section(_ run: RunReport, index: Int) -> String {
        let number = index + 1
        let parts = [
            proxies(run), coverage(run), reasons(run), figure(run, number: number), capture(run), replay(run),
            output(run),
        ].compactMap { $0 }
        return """
            <section class="card run" id="run-\(number)">
            <header><h2>\(sentence(run.name))</h2>\
            <span class="badge \(run.style)">\(run.result.rawValue)</span></header>
            <p class="figures">\(sentence(SVGReport.figures(of: run)))</p>
            \(parts.joined(separator: "\n"))
            </section>
            """
    }

    /// The most proxies of a section.
    private static let proxyLimit = 32

    /// A line for each proxy that saw faults, or for each of several.
    private static func proxies(_ run: RunReport) -> String? {
        let all = run.measurements.proxies
        let lines = all.prefix(proxyLimit).compactMap { proxy -> String? in
            let faults = ReportText.faults(of: [proxy])
            guard all.count > 1 || faults != nil else { return nil }
            let bytes = "\(Formatting.size(proxy.downstream)) down, \(Formatting.size(proxy.upstream)) up, "
            let connections = ReportText.count(Int(proxy.connections), "connection")
            let text = (all.count > 1 ? bytes + connections + "; " : "") + "faults: \(faults ?? "none")"
            return "<li><b>\(proxy.name.shortened(to: 100).xmlLine)</b> \(sentence(text))</li>"
        }
        guard !lines.isEmpty else { return nil }
        let further = all.count > proxyLimit ? "<li>\(all.count - proxyLimit) further proxies left out</li>" : ""
        return "<ul class=\"proxies\">\(lines.joined())\(further)</ul>"
    }

    /// The phases and faults that the run met, a line for each proxy.
    private static func coverage(_ run: RunReport) -> String? {
        let lines = run.coverageLines.prefix(proxyLimit).map { "<li>\(sentence($0))</li>" }
        return lines.isEmpty ? nil : "<ul class=\"proxies\">\(lines.joined())</ul>"
    }

    /// The most sentences of a section.
    private static let sentenceLimit = 50

    private static func reasons(_ run: RunReport) -> String? {
        guard !run.findings.isEmpty else { return nil }
        let items =
            run.findings.map { "<li>\(sentence($0))</li>" }
            + run.notes.map { "<li class=\"note\">\(sentence($0))</li>" }
        let rest = items.count - sentenceLimit
        let further = rest > 0 ? "<li class=\"note\">\(ReportText.count(rest, "further sentence")) left out</li>" : ""
        return "<ul class=\"reasons\">\(items.prefix(sentenceLimit).joined())\(further)</ul>"
    }

    private static func figure(_ run: RunReport, number: Int) -> String {
        let picture = TimelinePicture(run.timeline)
        if picture.isEmpty { return "<p class=\"figures\">Nothing was recorded over time.</p>" }
        let items = picture.legend.map { item in
            "<li><svg aria-hidden=\"true\" viewBox=\"0 0 14 14\">\(ReportStyle.key(item.key))</svg>"
                + "\(item.text.xmlLine)</li>"
        }
        let omissions = picture.omissions.map { "<p>\($0.xmlLine)</p>" }
        let height = picture.height.short
        return """
            <figure>
            <div class="chart"><svg aria-hidden="true" height="\(height)">\(picture.labels(endingAt: 66))</svg>
            <div class="plot"><svg height="\(height)" role="img" aria-labelledby="title-\(number) desc-\(number)">
            <title id="title-\(number)">\(sentence(run.name)) over time</title>
            <desc id="desc-\(number)">\(picture.description.xmlLine)</desc>
            \(picture.plot)
            </svg></div></div>
            <figcaption><ul class="legend">\(items.joined())</ul>\(omissions.joined())</figcaption>
            </figure>
            """
    }

    private static func capture(_ run: RunReport) -> String? {
        run.capture.map { "<p class=\"figures\"><a href=\"\(reference($0))\">Capture for Wireshark</a></p>" }
    }

    /// A relative reference to a file (RFC 3986, section 4.2).
    private static func reference(_ path: String) -> String {
        let kept = path.utf8.map { byte -> String in
            let scalar = Unicode.Scalar(byte)
            let isPlain =
                scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789-_./".unicodeScalars.contains(scalar))
            return isPlain ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        return kept.joined()
    }

    private static func replay(_ run: RunReport) -> String? {
        guard !run.replay.isEmpty else { return nil }
        return "<div><h3>Repeat it</h3><pre>\(ReportText.replay(run).xmlLines)</pre></div>"
    }

    private static func output(_ run: RunReport) -> String? {
        guard let output = run.outputEnd() else { return nil }
        return "<details><summary>\(output.heading)</summary>"
            + "<pre tabindex=\"0\" role=\"region\" aria-label=\"output\">\(output.text.xmlLines)</pre></details>"
    }
}
