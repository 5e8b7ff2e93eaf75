import TerminalDisplay
import Units

/// Lays out the display of a transfer: a pure function from the terminal and a scene to lines.
struct DemoScreen {
    /// From this many rows on the chart has four rows of bars.
    static let tallRows = 24
    /// From this many rows on there is a chart, of two rows of bars.
    static let leastChartRows = 14

    var abilities: TerminalAbilities
    /// The width of a line.
    var columns: Int
    /// The height of the terminal.
    var rows: Int

    private var glyphs: ProgressBar.Glyphs { abilities.hasUnicode ? .unicode : .ascii }
    private var barRows: Int { rows >= Self.tallRows ? 4 : 2 }

    /// The lines for `scene`, each at most `columns` wide, not counting color sequences. A terminal without escape sequences
    /// has one line, because it can't go up.
    func lines(_ scene: DemoScene) -> [String] {
        guard abilities.hasEscapes else { return [singleLine(scene)] }
        var progress = scene.progress
        // The sentences tell of a pause, and of the rate in the same second.
        progress.pause = nil
        progress.rate = scene.rate
        var bar = ProgressBar(abilities)
        bar.ratesAreInBits = true
        let last = bar.line(progress, columns: columns)
        guard rows >= Self.leastChartRows else { return [words(scene), last] }
        return ["", words(scene)] + chart(scene) + [last]
    }

    /// The throughput of the whole transfer.
    func chart(_ scene: DemoScene) -> [String] {
        ThroughputChart(abilities: abilities)
            .lines(scene.history, over: scene.span, phases: scene.phases, columns: columns, height: barRows)
    }

    /// The time, what is happening, and the number of faults.
    private func words(_ scene: DemoScene) -> String {
        let time = Formatting.seconds(scene.time)
        let sentences = DemoWords.sentences(scene).map(glyphs.safe)
        let whole = TerminalText.line(
            sentences,
            separator: " ",
            to: columns - time.count - 2,
            ellipsis: glyphs.ellipsis
        )
        let faults = "\(scene.faults) fault\(scene.faults == 1 ? "" : "s")"
        let room = columns - time.count - 2 - whole.count - 2 - faults.count
        let painted = abilities.hasColors ? color(scene).paint(whole) : whole
        let rest = room >= 0 ? String(repeating: " ", count: room + 2) + faults : ""
        return "\(time)  \(painted)\(rest)"
    }

    private func color(_ scene: DemoScene) -> TerminalColor {
        let tone = scene.phases.last?.tone ?? .good(isSecond: false)
        if case .good = tone, scene.progress.pause != nil { return .yellow }
        return tone.color
    }

    private func singleLine(_ scene: DemoScene) -> String {
        let time = Formatting.seconds(scene.time)
        var fields = [time]
        if let total = scene.progress.total, total > 0 {
            fields.append(TerminalText.right("\(Int(Double(scene.progress.bytes) / Double(total) * 100)) %", in: 5))
        }
        let sentences = DemoWords.sentences(scene).map(glyphs.safe)
        let taken = fields.joined(separator: "  ")
        let words = TerminalText.line(
            sentences,
            separator: " ",
            to: columns - taken.count - 2,
            ellipsis: glyphs.ellipsis
        )
        return TerminalText.cut(taken + "  " + words, to: columns, ellipsis: glyphs.ellipsis)
    }
}
