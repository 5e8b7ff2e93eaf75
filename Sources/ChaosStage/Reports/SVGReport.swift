import Units

/// The timeline of a run as a picture: an SVG that stands alone, in the color scheme of its reader.
package enum SVGReport {
    private enum Size {
        static let width = 960.0
        static let left = 112.0
        static let right = 928.0
        static let top = 92.0
    }

    /// The document, 960 units wide, with a title and a description for screen readers. It has no script and asks for
    /// nothing.
    package static func text(of run: RunReport) -> String {
        let picture = TimelinePicture(run.timeline, width: Size.right - Size.left)
        let (legend, legendBottom) = legend(picture, top: Size.top + picture.height + 26)
        let notes = picture.omissions.enumerated().map { index, text in
            line(text, x: Size.left, y: legendBottom + 20 + Double(index) * 18, name: "faint")
        }
        let height = legendBottom + Double(notes.count) * 18 + 20
        let verdict = run.headline
        let color = run.result == .passed ? "passed" : run.isFailure ? "failed" : "faint"
        let title = "\(run.name): \(verdict)"
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Size.width.short) \(height.short)" \
            width="\(Size.width.short)" height="\(height.short)" role="img" aria-labelledby="title description">
            <title id="title">\(title.shortened(to: 400).xmlLine)</title>
            <desc id="description">\(picture.description.xmlLine)</desc>
            <style>
            \(style)
            </style>
            \(ReportStyle.signs)
            <rect class="paper" width="100%" height="100%" rx="10"/>
            \(line(run.name, x: 32, y: 36, name: "heading", size: 19))
            \(line("\(run.sign) \(verdict)", x: 32, y: 58, name: color, size: 14))
            \(line(figures(of: run), x: 32, y: 77, name: "faint"))
            <svg y="\(Size.top.short)" overflow="visible">\(picture.labels(endingAt: Size.left - 8))</svg>
            <svg x="\(Size.left.short)" y="\(Size.top.short)" width="\((Size.right - Size.left).short)" \
            height="\(picture.height.short)" overflow="visible">
            \(picture.plot)
            </svg>
            \((legend + notes).joined(separator: "\n"))
            </svg>

            """
    }

    private static let style = ReportStyle.colors.literal(
        """
        \(ReportStyle.picture)
        .paper { fill: var(--surface); } .heading { font-size: 19px; font-weight: 650; }
        .passed { fill: var(--green); font-weight: 600; } .failed { fill: var(--red); font-weight: 600; }
        svg > text { font-size: 13px; } svg > .heading { font-size: 19px; }
        """
    )

    /// The figures of a run in a line: how the command ended, the bytes, connections, faults and resumptions.
    static func figures(of run: RunReport) -> String {
        let figures = run.measurements
        var parts = [
            run.ending.text, ReportText.time(figures.time), "\(Formatting.size(figures.downstream)) down",
            "\(Formatting.size(figures.upstream)) up", ReportText.count(Int(figures.connections), "connection"),
            ReportText.count(Int(figures.faults), "fault"),
        ]
        if figures.resumptions > 0 { parts.append(ReportText.count(Int(figures.resumptions), "resumption")) }
        if let waste = figures.waste { parts.append("\(ReportText.percent(waste)) waste") }
        return parts.joined(separator: " · ")
    }

    /// A line of text, cut to the width of the picture.
    private static func line(_ text: String, x: Double, y: Double, name: String, size: Double = 13) -> String {
        let shown = LabelWidth.cut(text.shortened(to: 300), to: Size.width - 32 - x, size: size) ?? ""
        return "<text class=\"\(name)\" x=\"\(x.short)\" y=\"\(y.short)\">\(shown.xmlLine)</text>"
    }

    /// The legend in as many lines as it takes, and the baseline of the last.
    private static func legend(_ picture: TimelinePicture, top: Double) -> (lines: [String], bottom: Double) {
        var (x, y, lines) = (Size.left, top, [String]())
        for item in picture.legend {
            let width = 22 + LabelWidth.of(item.text, size: TimelinePicture.Size.font)
            if x > Size.left, x + width > Size.right { (x, y) = (Size.left, y + 20) }
            lines.append(
                "<svg x=\"\(x.short)\" y=\"\((y - 11).short)\" width=\"14\" height=\"14\">"
                    + "\(ReportStyle.key(item.key))</svg>"
            )
            lines.append("<text class=\"faint\" x=\"\((x + 19).short)\" y=\"\(y.short)\">\(item.text.xmlLine)</text>")
            x += width + 14
        }
        return (lines, y)
    }
}
