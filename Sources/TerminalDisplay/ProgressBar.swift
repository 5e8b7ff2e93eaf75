import Units

/// Draws a progress line: percent, a bar with marks at resumptions, bytes of the total, rate, time left, and
/// resumptions. Omits fields when the line is too short.
package struct ProgressBar {
    /// The characters of a bar.
    package struct Glyphs: Hashable {
        var filled: Character
        var empty: Character
        /// Marks a resumption.
        var mark: Character
        var edges: [Character]
        package var ellipsis: String
        var times: Character
        var isASCII: Bool

        package static let unicode = Glyphs(
            filled: "█",
            empty: "░",
            mark: "│",
            edges: [],
            ellipsis: "…",
            times: "×",
            isASCII: false
        )
        package static let ascii = Glyphs(
            filled: "=",
            empty: " ",
            mark: "|",
            edges: ["[", "]"],
            ellipsis: "...",
            times: "x",
            isASCII: true
        )
    }

    var glyphs: Glyphs
    var isColored: Bool
    /// Whether the rate is in bit/s, as in profiles, and not in B/s.
    package var ratesAreInBits = false

    /// The minimum width of a bar.
    static let minimumBarWidth = 10
    /// The minimum width of a wait reason next to a bar.
    static let minimumReasonWidth = 36

    /// A bar for a terminal.
    package init(_ abilities: TerminalAbilities) {
        self.init(glyphs: abilities.hasUnicode ? .unicode : .ascii, isColored: abilities.hasColors)
    }

    init(glyphs: Glyphs, isColored: Bool) {
        self.glyphs = glyphs
        self.isColored = isColored
    }

    /// The line for `progress`, at most `columns` wide, not counting color sequences.
    package func line(_ progress: ProgressSnapshot, columns: Int) -> String {
        guard let total = progress.total, total > 0 else { return lineWithoutTotal(progress, columns: columns) }
        let bytes = min(max(0, progress.bytes), total)
        let percent = Int(Double(bytes) / Double(total) * 100)
        let percentText = TerminalText.right("\(bytes < total ? min(percent, 99) : 100) %", in: 5)
        guard columns > percentText.count + Self.minimumBarWidth else { return cut(percentText, to: columns) }
        let fields = fields(progress, total, columns: columns - percentText.count - 1 - Self.minimumBarWidth)
        var barWidth = columns - percentText.count - 1 - fields.reduce(0) { $0 + $1.count + 2 }
        guard let message = message(progress) else {
            let bar = bar(bytes, total, progress.marks, columns: barWidth)
            return ([percentText + " " + bar] + fields).joined(separator: "  ")
        }
        let room = columns - percentText.count - 2
        guard room - 1 - Self.minimumBarWidth >= Self.minimumReasonWidth else {
            return percentText + "  " + colored(cut(message, to: room), .yellow)
        }
        // Keeps the bar's width if possible.
        barWidth = min(barWidth, max(Self.minimumBarWidth, room - 1 - message.count))
        let bar = bar(bytes, total, progress.marks, columns: barWidth)
        return "\(percentText) \(bar)  " + colored(cut(message, to: room - 1 - barWidth), .yellow)
    }

    private func lineWithoutTotal(_ progress: ProgressSnapshot, columns: Int) -> String {
        let size = Formatting.size(progress.bytes)
        if let message = message(progress) {
            guard columns > size.count + 2 else { return cut(size, to: columns) }
            return size + "  " + colored(cut(message, to: columns - size.count - 2), .yellow)
        }
        var line = size
        let rate = progress.rate == nil ? nil : rate(progress)
        for field in [rate, resumptions(progress)].compactMap(\.self)
        where line.count + 2 + field.count <= columns {
            line += "  " + field
        }
        return cut(line, to: columns)
    }

    /// The fields that fit after the bar, in order. Time and rate are dropped last.
    private func fields(_ progress: ProgressSnapshot, _ total: Int64, columns: Int) -> [String] {
        let inOrder: [String?] = [
            size(progress, total), rate(progress), timeLeft(progress, total), resumptions(progress),
        ]
        var rest = columns
        var chosen: Set<Int> = []
        for index in [2, 1, 0, 3] {
            guard let field = inOrder[index] else { continue }
            guard field.count + 2 <= rest else { break }
            rest -= field.count + 2
            chosen.insert(index)
        }
        return inOrder.indices.compactMap { chosen.contains($0) ? inOrder[$0] : nil }
    }

    /// "12.3 of 64.0 MiB".
    private func size(_ progress: ProgressSnapshot, _ total: Int64) -> String {
        let whole = Formatting.size(total)
        let part = Formatting.size(progress.bytes, inUnitOf: total)
        let number = whole.prefix { $0 != " " }
        return "\(TerminalText.right(part, in: number.count)) of \(whole)"
    }

    /// "4.8 MiB/s".
    private func rate(_ progress: ProgressSnapshot) -> String {
        if ratesAreInBits {
            return TerminalText.right(progress.rate.map { Formatting.rate(bitsPerSecond: $0 * 8) } ?? "", in: 11)
        }
        return TerminalText.right(progress.rate.map { Formatting.byteRate($0) } ?? "", in: 9)
    }

    /// "0:12 left".
    private func timeLeft(_ progress: ProgressSnapshot, _ total: Int64) -> String {
        var text = "-:--"
        if let rate = progress.rate, rate >= 1 {
            text = Formatting.timeLeft(seconds: Double(max(0, total - progress.bytes)) / rate) ?? text
        }
        return TerminalText.right(text + " left", in: 10)
    }

    /// "resumed 3×".
    private func resumptions(_ progress: ProgressSnapshot) -> String? {
        progress.resumptions > 0 ? "resumed \(progress.resumptions)\(glyphs.times)" : nil
    }

    /// "waiting 3 s: the connection was lost".
    private func message(_ progress: ProgressSnapshot) -> String? {
        switch progress.pause {
        case .waiting(let time, let reason):
            return "waiting \((time.nanoseconds - 1) / 1_000_000_000 + 1) s: \(glyphs.safe(reason))"
        case .trying(let reason): return "trying again: \(glyphs.safe(reason))"
        case .withoutNetwork: return "waiting for the network"
        case nil: return nil
        }
    }

    /// A bar of `columns`, with a mark at each of `marks` if they use at most a third of the filled part.
    private func bar(_ bytes: Int64, _ total: Int64, _ marks: [Int64], columns: Int) -> String {
        let cells = columns - glyphs.edges.count
        func cell(_ offset: Int64) -> Int { Int(Double(offset) / Double(total) * Double(cells)) }
        let filled = min(cells, cell(bytes))
        var marked = Set(marks.map(cell).filter { $0 < filled })
        if marked.count * 3 > filled + 1 { marked = [] }
        var text = glyphs.edges.first.map { String($0) } ?? ""
        var run: (color: TerminalColor, text: String) = (.green, "")
        for index in 0..<cells {
            let isMarked = marked.contains(index)
            let color: TerminalColor = isMarked ? .yellow : index < filled ? .green : .faint
            if color != run.color {
                text += colored(run.text, run.color)
                run = (color, "")
            }
            run.text.append(isMarked ? glyphs.mark : index < filled ? glyphs.filled : glyphs.empty)
        }
        text += colored(run.text, run.color)
        return text + (glyphs.edges.last.map { String($0) } ?? "")
    }

    private func colored(_ text: String, _ color: TerminalColor) -> String { isColored ? color.paint(text) : text }

    private func cut(_ text: String, to columns: Int) -> String {
        guard text.count > columns else { return text }
        guard columns > glyphs.ellipsis.count else { return String(text.prefix(max(0, columns))) }
        return text.prefix(columns - glyphs.ellipsis.count) + glyphs.ellipsis
    }
}
