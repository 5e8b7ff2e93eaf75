import Units

/// What running proxies do at a moment, as the status line of `squall run` shows it.
package struct RunStatus: Hashable {
    /// The time on the clock of the proxies.
    package var time: Duration
    /// The name of the phase; `nil` without one, or if the proxies are in different ones.
    package var phase: String?
    /// The open connections.
    package var open = 0
    /// The rate to the servers in bytes per second.
    package var upstreamRate = 0.0
    /// The rate to the clients in bytes per second.
    package var downstreamRate = 0.0
    /// The fault events so far.
    package var faults: UInt64 = 0

    /// The status at `time`, of proxies without connections.
    package init(time: Duration, phase: String?) { (self.time, self.phase) = (time, phase) }

    /// The line, at most `columns` wide. Fields are left out where there is no room: the time first, then the phase, the
    /// faults, and the rates.
    package func line(columns: Int, _ glyphs: ProgressBar.Glyphs) -> String {
        func rate(_ rate: Double) -> String {
            TerminalText.right(Formatting.rate(bitsPerSecond: rate * 8), in: 12)
        }
        let inOrder: [String?] = [
            Formatting.seconds(time), phase.map { "[\(glyphs.safe($0))]" }, "\(open) open", "up \(rate(upstreamRate))",
            "down \(rate(downstreamRate))",
            "\(Formatting.grouped(Int64(clamping: faults))) fault\(faults == 1 ? "" : "s")",
        ]
        var room = columns + 2
        var chosen: Set<Int> = []
        for index in [2, 4, 3, 5, 1, 0] {
            guard let field = inOrder[index], field.count + 2 <= room else { continue }
            room -= field.count + 2
            chosen.insert(index)
        }
        let fields = inOrder.indices.compactMap { chosen.contains($0) ? inOrder[$0] : nil }
        return fields.joined(separator: "  ")
    }

    /// The permanent line of a phase that begins at `time`, of any width.
    package static func line(ofPhase name: String, at time: Duration, _ glyphs: ProgressBar.Glyphs) -> String {
        let line = "\(Formatting.signedSeconds(time))  — \(name)"
        // With Unicode a character may be two columns wide.
        return glyphs.isASCII ? glyphs.safe(line) : line
    }
}

/// The rates of running proxies, from their byte counts over time.
package struct RunRates {
    /// The time over which a rate is measured.
    static let window = Duration.seconds(1)
    /// The most samples.
    static let limit = 64

    private var samples: [(time: Moment, up: Int64, down: Int64)] = []

    /// Rates before the first sample.
    package init() {}

    /// Adds the counts at `time`; returns the rates in bytes per second over the last window.
    package mutating func add(up: Int64, down: Int64, at time: Moment) -> (up: Double, down: Double) {
        samples.append((time, up, down))
        while samples.count > 2, time - samples[1].time >= Self.window || samples.count > Self.limit {
            samples.removeFirst()
        }
        let first = samples[0]
        let seconds = Double((time - first.time).nanoseconds) / 1e9
        guard seconds > 0 else { return (0, 0) }
        return (Double(max(0, up - first.up)) / seconds, Double(max(0, down - first.down)) / seconds)
    }
}
