import TerminalDisplay
import Units

/// Draws the throughput of a transfer over time: bars in the colors of the phases, with their names below.
struct ThroughputChart {
    /// The most rows of names.
    static let nameRows = 4
    /// The columns of the scale on the left.
    static let scaleColumns = 11
    /// The narrowest chart with a scale.
    static let leastScaledColumns = 50

    /// How much a sample of 100 ms may show too much because it was taken late.
    private static let sampleError = 0.08

    let abilities: TerminalAbilities

    private var glyphs: ProgressBar.Glyphs { abilities.hasUnicode ? .unicode : .ascii }
    /// The bars by eighths of a row.
    private var bars: [Character] { abilities.hasUnicode ? Array(" ▁▂▃▄▅▆▇█") : Array(" ...::::#") }
    /// Where nothing passes.
    private var nothing: Character { abilities.hasUnicode ? "·" : "_" }

    /// The chart of `span`, with `height` rows of bars, and the names of the phases in as many rows as they need. Each line
    /// is at most `columns` wide, not counting color sequences.
    func lines(
        _ history: ThroughputHistory,
        over span: Duration,
        phases: [PhaseSpan],
        columns: Int,
        height: Int
    ) -> [String] {
        let gutter = columns >= Self.leastScaledColumns ? Self.scaleColumns : 0
        let width = max(1, columns - gutter)
        let rates = history.rates(width, over: span)
        let scale = Self.scale(rates.max() ?? 0)
        let places = rates.indices.map { span * (2 * $0 + 1) / (2 * width) }
        let tones = places.map { place in phases.last { $0.begin <= place }?.tone ?? .good(isSecond: false) }
        var lines = (0..<height).map { row in
            let base = (height - 1 - row) * 8
            let cells = rates.map { rate -> Character in
                let level = scale > 0 ? rate / scale * Double(8 * height) : 0
                let eighths = max(level > 0.02 ? 1 : 0, Int(level.rounded()))
                return eighths == 0 && base == 0 ? nothing : bars[min(8, max(0, eighths - base))]
            }
            let end = cells.lastIndex { $0 != " " }.map { $0 + 1 } ?? 0
            return margin(row, scale, gutter) + painted(cells.prefix(end), tones)
        }
        guard !phases.isEmpty else { return lines }
        let blanks = String(repeating: " ", count: gutter)
        lines += names(of: phases, over: span, columns: width).map { blanks + $0 }
        return lines
    }

    /// The lowest rate of the form 1, 1.5, 2, 3, 4, 5, 6 or 8 times a power of ten bits per second that isn't below `rate` by
    /// more than a sample may be wrong. Both are in bytes per second.
    static func scale(_ rate: Double) -> Double {
        let bits = rate * 8 / (1 + sampleError)
        guard bits >= 1 else { return 0 }
        var power = 1.0
        while power * 10 <= bits { power *= 10 }
        let step = [1, 1.5, 2, 3, 4, 5, 6, 8, 10].first { $0 * power >= bits } ?? 10
        return step * power / 8
    }

    private func margin(_ row: Int, _ scale: Double, _ gutter: Int) -> String {
        guard gutter > 0 else { return "" }
        let text = row == 0 && scale > 0 ? Formatting.rate(bitsPerSecond: scale * 8).replacing(".0 ", with: " ") : ""
        let padded = TerminalText.right(text.count < gutter ? text : "", in: gutter - 1) + " "
        return abilities.hasColors && !text.isEmpty ? TerminalColor.faint.paint(padded) : padded
    }

    /// `cells`, from the first column on, with one color sequence for each run of a tone.
    private func painted(_ cells: ArraySlice<Character>, _ tones: [PhaseTone]) -> String {
        guard abilities.hasColors else { return String(cells) }
        var text = ""
        var run = ""
        for (index, cell) in cells.enumerated() {
            run.append(cell)
            guard index + 1 == cells.count || tones[index + 1] != tones[index] else { continue }
            text += run.allSatisfy { $0 == " " } ? run : tones[index].color.paint(run)
            run = ""
        }
        return text
    }

    /// A name below the chart, with a mark at the column where its phase begins.
    private struct Label {
        var range: Range<Int>
        var text: String
        var tone: PhaseTone
    }

    /// The names of `phases`, as far as they fit in `nameRows`.
    private func names(of phases: [PhaseSpan], over span: Duration, columns: Int) -> [String] {
        var rows = [[Label]](repeating: [], count: Self.nameRows)
        for phase in phases where phase.begin < span {
            let column = Int(Double(phase.begin.nanoseconds) / Double(span.nanoseconds) * Double(columns))
            guard let (row, label) = place(phase, at: column, rows, columns: columns) else { continue }
            rows[row].append(label)
        }
        let used = rows.prefix(1 + (rows.lastIndex { !$0.isEmpty } ?? 0))
        return used.map { labels in
            var line = ""
            var end = 0
            for label in labels.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
                line += String(repeating: " ", count: label.range.lowerBound - end)
                line += abilities.hasColors ? label.tone.color.paint(label.text) : label.text
                end = label.range.upperBound
            }
            return line
        }
    }

    /// Finds room for a name: to the right of its mark, or else to the left of it.
    private func place(
        _ phase: PhaseSpan,
        at column: Int,
        _ rows: [[Label]],
        columns: Int
    ) -> (row: Int, Label)? {
        let name = glyphs.safe(phase.name)
        let width = name.count + 2
        let marks = abilities.hasUnicode ? ("└ ", " ┘") : ("| ", " |")
        let choices = [(column..<column + width, marks.0 + name), (column + 1 - width..<column + 1, name + marks.1)]
        for (range, text) in choices where range.lowerBound >= 0 && range.upperBound <= columns {
            for (row, labels) in rows.enumerated() {
                let isFree = labels.allSatisfy {
                    range.upperBound < $0.range.lowerBound || range.lowerBound > $0.range.upperBound
                }
                if isFree { return (row, Label(range: range, text: text, tone: phase.tone)) }
            }
        }
        return nil
    }
}
