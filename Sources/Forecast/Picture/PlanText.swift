import FaultProfile
import Units

/// A plan as text of a given width: a chart of rates, a row for each kind of mark, and a chart of delays.
package struct PlanText {
    /// The widths of a drawing, in columns.
    package static let widths = 60...500
    /// The most phases that are listed; the rest is counted.
    private static let listed = 40
    private static let delayRows = 4
    /// About how many rows the chart of rates has.
    private static let rateRows = 8

    private let picture: PlanPicture
    private let glyphs: PlanGlyphs
    private let width: Int
    /// The columns of the labels on the left, with a space on each side.
    private let margin: Int
    private let columns: [PlanColumn]

    /// A drawing of `width` columns, held within `widths`.
    package init(_ picture: PlanPicture, width: Int, glyphs: PlanGlyphs = .unicode) {
        self.picture = picture
        self.glyphs = glyphs
        self.width = min(max(width, PlanText.widths.lowerBound), PlanText.widths.upperBound)
        var labels = ["outage"] + picture.rows.map { PlanText.label($0, glyphs) }
        if let rates = picture.rates { labels += rates.rates.map(rates.text) }
        if let delays = picture.delays { labels += delays.delays.map { glyphs.text(delays.text($0)) } }
        margin = (labels.map(\.count).max() ?? 0) + 2
        columns = picture.columns(self.width - margin)
    }

    /// The drawing, its legend and its figures, without escape sequences. Lines have no trailing spaces.
    package var text: String {
        let title = picture.summary.isEmpty ? picture.name : "\(picture.name): \(picture.summary)"
        var lines = wrapped(title.visibleLine, indent: 0) + wrapped(picture.heading, indent: 0) + [""]
        if !picture.runs.isEmpty {
            let rows = phaseRows
            if !rows.keys.allSatisfy({ $0 == " " }) { lines.append(row("", rows.keys)) }
            lines.append(row("", rows.names))
        }
        lines += rateChart
        if !picture.outages.isEmpty { lines.append(row("outage ", outageRow)) }
        lines += picture.rows.map { row("\(PlanText.label($0, glyphs)) ", markRow($0)) }
        if let delays = picture.delays { lines += delayChart(delays) }
        lines += axis
        lines += legend + picture.notes.flatMap { wrapped($0, indent: 0) } + [""] + list + [""] + figures
        return lines.map(\.trimmingSpaces).joined(separator: "\n")
    }

    private func row(_ label: String, _ marks: [Character], _ edge: Character = " ") -> String {
        String(repeating: " ", count: max(0, margin - 1 - label.count)) + label + String(edge) + String(marks)
    }

    private func column(of moment: Moment) -> Int {
        min(columns.count - 1, Int(picture.share(moment) * Double(columns.count)))
    }

    // MARK: Phases and marks

    /// The phases: each with its name if that has room, else with its key above.
    private var phaseRows: (keys: [Character], names: [Character]) {
        var owners = [Int?](repeating: nil, count: columns.count)
        let places = picture.runs.map { run in
            (first: column(of: run.begin), last: column(of: run.end.advanced(byNanoseconds: -1)))
        }
        for (index, place) in places.enumerated() {
            for column in place.first...max(place.first, place.last) { owners[column] = index }
        }
        // A phase that is shorter than a column keeps that, whatever else is in it.
        for (index, place) in places.enumerated() where place.first == place.last { owners[place.first] = index }
        var keys = [Character](repeating: " ", count: columns.count)
        var (names, free) = (keys, 0)
        for (index, place) in places.enumerated() {
            let own = (place.first...max(place.first, place.last)).filter { owners[$0] == index }
            guard let first = own.first else { continue }
            let phase = picture.phases[picture.runs[index].phase]
            let name = glyphs.text(phase.name.visibleLine)
            names[first] = glyphs.edge
            if name.count < own.count {
                for (offset, character) in name.enumerated() { names[first + 1 + offset] = character }
            } else if first >= free, first + phase.key.count <= columns.count {
                for (offset, character) in phase.key.enumerated() { keys[first + offset] = character }
                free = first + phase.key.count + 1
            }
        }
        return (keys, names)
    }

    private var outageRow: [Character] {
        var marks = [Character](repeating: " ", count: columns.count)
        for outage in picture.outages {
            let first = column(of: outage.begin)
            let last = column(of: outage.end.advanced(byNanoseconds: -1))
            for column in first...max(first, last) { marks[column] = outage.mode.sign }
        }
        return marks
    }

    /// The longest label of a row, in columns.
    private static let labelLimit = 14

    private static func label(_ row: PlanRow, _ glyphs: PlanGlyphs) -> String {
        glyphs.text(row.label.count > labelLimit ? row.label.prefix(labelLimit - 1) + "…" : row.label)
    }

    /// The marks of a row: a sign, or a band with its number.
    private func markRow(_ place: PlanRow) -> [Character] {
        var row = [Character](repeating: " ", count: columns.count)
        let marks = picture.marks.filter { $0.row == place }
        for (index, mark) in marks.enumerated() {
            let (first, last) = (column(of: mark.begin), column(of: mark.end))
            let limit = index + 1 < marks.count ? column(of: marks[index + 1].begin) : columns.count
            let text = sign(of: mark, columns: last - first + 1, room: limit - first)
            for (offset, character) in text.enumerated() { row[first + offset] = character }
        }
        return row
    }

    private func sign(of mark: PlanMarks, columns: Int, room: Int) -> String {
        let sign = String(glyphs.sign(of: mark.kind))
        guard let label = mark.label.map(glyphs.text) else { return sign }
        if columns >= label.count + 2 {
            let line = columns - label.count - 2
            func half(_ count: Int) -> String { String(repeating: glyphs.line, count: count) }
            return "\(glyphs.bandBegin)\(half(line / 2))\(label)\(half(line - line / 2))\(glyphs.bandEnd)"
        }
        // Beside the band there is room for its number, or else only for its sign.
        return label.count <= room ? label : sign
    }

    // MARK: Charts

    /// The rates: what arrives as an area, and what may pass as a dotted line above it.
    private var rateChart: [String] {
        guard let ticks = picture.rates, let top = ticks.rates.last else { return [] }
        let perTick = max(1, (PlanText.rateRows + ticks.rates.count / 2) / ticks.rates.count)
        let rows = perTick * ticks.rates.count
        let levels = columns.map { level($0.rate, of: top, rows: rows) }
        let limits = columns.map { column -> Int in
            guard case .limited(let rate) = column.capacity else { return 0 }
            return level(rate, of: top, rows: rows)
        }
        return chart(ticks.rates.map(ticks.text), perTick) { column, base in
            if levels[column] > base { return glyphs.block(levels[column] - base) }
            return limits[column] > base && limits[column] <= base + 8 ? glyphs.limit : " "
        }
    }

    /// The mean delays of the columns, as an area.
    private func delayChart(_ ticks: DelayTicks) -> [String] {
        guard let top = ticks.delays.last else { return [] }
        let perTick = max(1, PlanText.delayRows / ticks.delays.count)
        let rows = perTick * ticks.delays.count
        let levels = columns.map { column in
            level(column.delay.map { Double($0.mean.nanoseconds) }, of: Double(top.nanoseconds), rows: rows)
        }
        let labels = ticks.delays.map { glyphs.text(ticks.text($0)) }
        return [row("delay ", [])]
            + chart(labels, perTick) { levels[$0] > $1 ? glyphs.block(levels[$0] - $1) : " " }
    }

    /// The rows of a chart, `perTick` for each tick, and its axis. `mark` is for a column, and what lies above the eighths
    /// of rows in which the row begins.
    private func chart(_ ticks: [String], _ perTick: Int, _ mark: (Int, Int) -> Character) -> [String] {
        let rows = perTick * ticks.count
        let lines = (0..<rows).map { index in
            // A row's label is the value at its upper edge.
            let (tick, rest) = (rows - index).quotientAndRemainder(dividingBy: perTick)
            return row(rest == 0 ? ticks[tick - 1] : nil, columns.indices.map { mark($0, (rows - index - 1) * 8) })
        }
        return lines + [axisLine]
    }

    /// A row of a chart, with the label of a tick if it has one.
    private func row(_ tick: String?, _ marks: [Character]) -> String {
        tick.map { row("\($0) ", marks, glyphs.tick) } ?? row("", marks, glyphs.edge)
    }

    /// The zero of a chart.
    private var axisLine: String {
        row("0 ", Array(repeating: glyphs.line, count: columns.count), glyphs.corner)
    }

    /// The eighths of rows that stand for a value, to the nearest; one at least for a value above zero.
    private func level(_ value: Double?, of top: Double, rows: Int) -> Int {
        guard let value, value > 0 else { return 0 }
        return min(rows * 8, max(1, Int((min(1, value / top) * Double(rows * 8)).rounded())))
    }

    /// The ticks of time, each with its label where it doesn't touch the one before.
    private var axis: [String] {
        var marks = [Character](repeating: " ", count: columns.count)
        var labels = [Character](repeating: " ", count: columns.count + margin)
        var free = 0
        for moment in picture.times.moments {
            let column = column(of: moment)
            marks[column] = glyphs.time
            let text = glyphs.text(picture.times.text(moment))
            let first = min(margin + column, labels.count - text.count)
            guard first >= free else { continue }
            for (offset, character) in text.enumerated() { labels[first + offset] = character }
            free = first + text.count + 1
        }
        return [row("", marks), String(labels)]
    }

    // MARK: Words

    private var legend: [String] {
        let items = picture.legend.compactMap { item in
            switch item {
            case .arrives: "\(glyphs.block(8)) \(item.text)"
            case .capacity: "\(glyphs.limit) \(item.text)"
            case .outage(let mode): "\(mode.sign) \(item.text)"
            case .mark(let kind): "\(glyphs.sign(of: kind)) \(item.text)"
            case .delay: nil
            }
        }
        let whole = items.map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: "   ")
        return items.isEmpty ? [] : wrapped(whole, indent: 0)
    }

    private var list: [String] {
        if let conditions = picture.conditions { return wrapped("always: \(conditions)", indent: 8) }
        let keyWidth = picture.phases.prefix(PlanText.listed).last.map { $0.key.count } ?? 1
        let lines = picture.phases.prefix(PlanText.listed).flatMap { phase in
            let key = phase.key + String(repeating: " ", count: keyWidth - phase.key.count)
            return wrapped("\(key)  \(phase.name.visibleLine), \(phase.text)", indent: keyWidth + 2)
        }
        let more = picture.phases.count - PlanText.listed
        return more > 0 ? lines + [glyphs.text("… and \(more) more phases")] : lines
    }

    private var figures: [String] {
        let indent = (picture.figures.map(\.label.count).max() ?? 0) + 2
        return picture.figures.flatMap { figure in
            figure.lines.enumerated().flatMap { index, line in
                let label = index == 0 ? figure.label : ""
                return wrapped(
                    label + String(repeating: " ", count: indent - label.count) + line.visibleLine,
                    indent: indent
                )
            }
        }
    }

    /// A text in lines of the drawing's width; those after the first are indented. A no-break space doesn't end a line.
    private func wrapped(_ text: String, indent: Int) -> [String] {
        let text = glyphs.text(text)
        let margin = String(repeating: " ", count: indent)
        var (lines, line) = ([String](), "")
        for (index, word) in text.split(separator: " ", omittingEmptySubsequences: false).enumerated() {
            if index == 0 {
                line = String(word)
            } else if line.count + 1 + word.count <= width {
                line += " " + word
            } else {
                lines.append(line)
                line = margin + word
            }
        }
        return (lines + [line]).map { $0.replacing("\u{A0}", with: " ") }
    }
}

extension Outage.Mode {
    fileprivate var sign: Character {
        switch self {
        case .refuse: "x"
        case .silence: "~"
        case .reset: "!"
        }
    }
}

extension String {
    fileprivate var trimmingSpaces: String {
        var text = self[...]
        while text.last == " " { text.removeLast() }
        return String(text)
    }
}
