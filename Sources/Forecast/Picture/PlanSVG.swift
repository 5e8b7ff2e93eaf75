import FaultProfile
import Units

/// A plan as a self-contained SVG in the reader's color scheme, with a title and a description for screen readers.
package struct PlanSVG {
    enum Size {
        static let width = 960.0
        static let left = 92.0
        static let right = 936.0
        /// The upper edge of the chart of rates, without and with the names of phases above it.
        static let top = (plain: 100.0, named: 136.0)
        static let rates = 224.0
        static let row = 22.0
        static let delays = 72.0
        static let font = 12.0
        /// A narrower outage is drawn without hatching.
        static let hatched = 8.0
    }

    let picture: PlanPicture
    let columns: [PlanColumn]

    package init(_ picture: PlanPicture) {
        self.picture = picture
        columns = picture.columns()
    }

    /// The document.
    package var text: String {
        let verdict = picture.figures.first.map { "\($0.label): \($0.lines[0])" } ?? ""
        let title = picture.summary.isEmpty ? picture.name : "\(picture.name): \(picture.summary)"
        let words = picture.figures.map { "\($0.label): \($0.lines.joined(separator: ", "))" }
        let description = ([picture.heading] + words + picture.notes).joined(separator: ". ") + "."
        let (below, height) = below
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Size.width.short) \(height.short)" \
            width="\(Size.width.short)" height="\(height.short)" role="img" aria-labelledby="title description">
            <title id="title">\(title.xmlLine)</title>
            <desc id="description">\(description.xmlLine)</desc>
            \(PlanSVG.style)
            <rect class="paper" width="100%" height="100%"/>
            \(line(picture.name, y: 32, size: 17, name: "heading"))
            \(line(picture.summary, y: 54, size: 13, name: "words"))
            \(line("\(picture.heading); \(verdict)", y: 75, size: 13, name: "words"))
            \((bands + axes + rates + outages + markRows + delays + below).joined(separator: "\n"))
            </svg>

            """
    }

    /// A line of text, cut to the width of the drawing.
    func line(_ text: String, y: Double, size: Double = Size.font, name: String = "faint") -> String {
        let shown = LabelWidth.cut(text.shortened(to: 300), to: Size.right - Size.left, size: size) ?? ""
        return "<text class=\"\(name)\" x=\"\(Size.left.short)\" y=\"\(y.short)\">\(shown.xmlLine)</text>"
    }

    /// A text in at most `limit` lines of the drawing's width; what has no room in the last is cut.
    func lines(_ text: String, limit: Int = 3) -> [String] {
        var lines: [String] = []
        for word in text.shortened(to: 600).split(separator: " ") {
            let longer = lines.last.map { "\($0) \(word)" } ?? String(word)
            let hasRoom = LabelWidth.of(longer, size: Size.font) <= Size.right - Size.left
            if lines.isEmpty || hasRoom || lines.count == limit {
                lines = lines.dropLast() + [longer]
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }

    func label(_ text: String, _ alignment: String, x: Double, y: Double) -> String {
        "<text class=\"faint \(alignment)\" x=\"\(x.short)\" y=\"\(y.short)\">\(text.xmlLine)</text>"
    }

    func x(_ moment: Moment) -> Double { Size.left + picture.share(moment) * (Size.right - Size.left) }

    // MARK: From top to bottom

    var top: Double { picture.runs.isEmpty ? Size.top.plain : Size.top.named }
    var ratesBottom: Double { top + (picture.rates == nil ? 0 : Size.rates) }
    /// The upper edge of a row of marks.
    func top(of row: PlanRow) -> Double {
        ratesBottom + 6 + Double(picture.rows.firstIndex(of: row) ?? 0) * Size.row
    }
    var marksBottom: Double { ratesBottom + (picture.rows.isEmpty ? 0 : 6 + Double(picture.rows.count) * Size.row) }
    var delaysTop: Double { marksBottom + 20 }
    /// The lower edge of all that shares the axis of time.
    var bottom: Double { picture.delays == nil ? max(marksBottom, top + 24) : delaysTop + Size.delays }

    // MARK: Parts

    /// The phases as bands, each with its name if that has room, else with its key.
    private var bands: [String] {
        var (lines, keyEnd) = ([String](), -Double.infinity)
        for (index, run) in picture.runs.enumerated() {
            let phase = picture.phases[run.phase]
            let (begin, end) = (x(run.begin), x(run.end))
            let place =
                "x=\"\(begin.short)\" y=\"\((top - 26).short)\" width=\"\((end - begin).short)\" "
                + "height=\"\((bottom - top + 26).short)\""
            let tip = "<title>\("\(phase.name), \(phase.text)".xmlLine)</title>"
            lines.append("<rect class=\"band\(index.isMultiple(of: 2) ? "" : " odd")\" \(place)>\(tip)</rect>")
            let middle = (begin + end) / 2
            if hasRoom(run) {
                lines.append(label(phase.name.visibleLine, "middle", x: middle, y: top - 10))
            } else {
                let half = LabelWidth.of(phase.key, size: Size.font) / 2
                guard middle - half > keyEnd + 2 else { continue }
                keyEnd = middle + half
                lines.append(label(phase.key, "middle key", x: middle, y: top - 30))
            }
        }
        return lines
    }

    func hasRoom(_ run: PlanPhaseRun) -> Bool {
        let name = picture.phases[run.phase].name.visibleLine
        return LabelWidth.of(name, size: Size.font) + 6 <= x(run.end) - x(run.begin)
    }

    /// The outages, drawn in front of the rates so that short ones are visible.
    private var outages: [String] {
        picture.outages.map { outage in
            let (begin, end) = (x(outage.begin), x(outage.end))
            let isShort = end - begin < Size.hatched
            let tip =
                "outage by \(outage.mode.rawValue), from \(NearestText.time(outage.begin - .zero)) "
                + "for \(NearestText.time(outage.end - outage.begin))"
            return
                "<rect class=\"outage \(outage.mode.rawValue)\(isShort ? " short" : "")\" x=\"\(begin.short)\" y=\"\(top.short)\" "
                + "width=\"\(max(1.5, end - begin).short)\" height=\"\((max(ratesBottom, bottom) - top).short)\">"
                + "<title>\(tip.xmlLine)</title></rect>"
        }
    }

    /// The marks: a sign each, or a band with its number.
    private var markRows: [String] {
        picture.rows.map { row in
            let text = LabelWidth.cut(row.label, to: Size.left - 12, size: Size.font) ?? ""
            return label(text, "end", x: Size.left - 8, y: top(of: row) + 15)
        }
            + picture.marks.map { marks in
                let (begin, end, row) = (x(marks.begin), x(marks.end), top(of: marks.row))
                let tip = "<title>\(marks.tip.xmlLines)</title>"
                guard let text = marks.label else {
                    let line =
                        marks.kind == .lost && picture.rates != nil
                        ? "<line class=\"lost\" x1=\"\(begin.short)\" x2=\"\(begin.short)\" y1=\"\(top.short)\" "
                            + "y2=\"\(row.short)\"/>" : ""
                    return "<g class=\"\(marks.kind.rawValue)\">\(tip)\(line)"
                        + "<path d=\"\(PlanSVG.sign(of: marks.kind, x: begin, y: row + 11))\"/></g>"
                }
                let room = LabelWidth.of(text, size: Size.font) + 8
                let left = min(max(Size.left, (begin + end - max(room, end - begin)) / 2), Size.right - room)
                return "<g class=\"\(marks.kind.rawValue)\">\(tip)<rect class=\"marks\" x=\"\(left.short)\" "
                    + "y=\"\((row + 2).short)\" width=\"\(max(room, end - begin).short)\" height=\"18\" rx=\"3\"/>"
                    + "<text class=\"count middle\" x=\"\((left + max(room, end - begin) / 2).short)\" "
                    + "y=\"\((row + 15.5).short)\">\(text)</text></g>"
            }
    }

    /// The outline of a sign around a point.
    static func sign(of kind: PlanMark.Kind, x: Double, y: Double) -> String {
        switch kind {
        case .opened: "M\((x - 5).short) \((y + 4).short)h10l-5 -9Z"
        case .lost: "M\((x - 5).short) \((y - 4).short)h10l-5 9Z"
        case .refused: "M\((x - 4).short) \((y - 4).short)l8 8m0 -8l-8 8"
        case .fault: "M\(x.short) \((y - 5).short)l5 5l-5 5l-5 -5Z"
        case .complete: "M\((x - 5).short) \(y.short)a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z"
        }
    }
}
