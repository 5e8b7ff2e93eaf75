import FaultProfile
import Units

/// What a stage is told when it is asked, and what it says beside how far the stream may come.
struct Visit {
    /// The time.
    let now: Moment
    /// The bytes that have left the link.
    let delivered: Int64
    /// Whether the stage's fault is on.
    var isActive = true
    /// How far the stream had come behind this stage when it was last asked.
    var passed: Int64 = 0
    /// When to ask again at the latest, as far as this stage knows.
    var wake = Moment.distantFuture
    /// What the stage did for the first time, if anything.
    var effect: Strike.Effect?
    /// Where, and how, the stage ended the stream.
    var cut: (offset: Int64, how: Cut.Ending)?

    init(now: Moment, delivered: Int64) {
        self.now = now
        self.delivered = delivered
    }

    /// Asks for another visit at `moment`.
    mutating func wake(at moment: Moment) {
        if moment < wake { wake = moment }
    }
}
