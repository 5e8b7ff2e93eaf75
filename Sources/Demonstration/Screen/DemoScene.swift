import TerminalDisplay
import Units

/// A moment of a transfer of the demo, as its display draws it.
struct DemoScene: Hashable {
    var transfer: DemoTransfer
    /// The time since the transfer began.
    var time: Duration
    /// The time that the chart shows, from the beginning.
    var span: Duration
    /// The phases so far, the present one last.
    var phases: [PhaseSpan] = []
    var progress = ProgressSnapshot()
    var history = ThroughputHistory()
    /// The number of fault events so far.
    var faults = 0
    /// The offset of the last resumption, and its time.
    var resumed: Resumption?

    /// The time over which the present rate is measured.
    static let rateTime = Duration.seconds(1)

    /// The present rate in bytes per second; `nil` before the first byte.
    var rate: Double? {
        guard history.movedAt > .zero else { return nil }
        return history.rate(from: max(.zero, history.end - Self.rateTime), until: history.end)
    }

    /// A resumption of the transfer.
    struct Resumption: Hashable {
        var offset: Int64
        var time: Duration
    }

    /// The span that grows by a quarter when a transfer takes longer than expected, so that the picture isn't squeezed at
    /// each update.
    static func span(_ time: Duration, expected: Duration) -> Duration {
        var span = max(expected, .seconds(2))
        while span < time, span < .seconds(1_000_000) { span += span / 4 }
        return span
    }
}
