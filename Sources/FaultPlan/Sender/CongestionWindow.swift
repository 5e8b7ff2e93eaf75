import FaultProfile
import Glibc
import Units

/// The congestion window of a virtual sender, in segments, by RFC 5681 (Reno) or RFC 9438 (CUBIC) as Linux has them.
///
/// Each acknowledged segment grows it, also where an acknowledgement is for two. With BBR it is set by `BottleneckModel`.
struct CongestionWindow {
    /// The window at the start and after an idle time: 10 segments (RFC 6928).
    static let initial = 10.0
    /// C of RFC 9438, in segments per cubic second.
    private static let growth = 0.4
    /// β of Linux's CUBIC, 717/1024, where RFC 9438 has 0.7.
    private static let cubicDecrease = 717.0 / 1_024
    /// The round trips in which the Reno-friendly window grows by one: (1 + β) / (3 (1 − β)), in eighths.
    private static let friendlyRounds = 15.0 / 8
    /// The window from which on HyStart looks at acknowledgements.
    private static let leastForHyStart = 16.0

    private let isCubic: Bool
    private let largest: Double
    /// The window.
    var segments: Double { didSet { segments = min(segments, largest) } }
    /// The window at which slow start ends.
    private(set) var threshold = Double.infinity

    /// The segments acknowledged since the window grew.
    private var credit = 0.0
    /// W_max, the window before the last loss; K in seconds; the window of the origin; the Reno-friendly window; the
    /// start of the epoch in nanoseconds.
    private var plateau = 0.0
    private var timeToPlateau = 0.0
    private var origin = 0.0
    private var friendly = 0.0
    private var friendlyCredit = 0.0
    private var epoch: Int64?

    /// HyStart: the end of the round, its start, the last acknowledgement of its train, the least round trip and the number
    /// of its samples, and the least round trip of all.
    private var roundEnd: Int64 = .min
    private var roundStart: Int64 = 0
    private var trainEnd: Int64 = 0
    private var roundTrip = Int64.max
    private var samples = 0
    private var leastRoundTrip = Int64.max

    /// Makes a window of at most `largest` segments, or 10 if that is more.
    init(_ sender: Loss.Sender, largest: Double) {
        isCubic = sender != .reno
        self.largest = max(Self.initial, largest)
        segments = Self.initial
    }

    /// An acknowledgement that isn't part of a recovery.
    struct Acknowledgement {
        /// The number of acknowledged segments.
        var count: Int
        /// When it came, in nanoseconds.
        var moment: Int64
        /// The round trip of the last of them.
        var roundTrip: Int64
        /// The offset up to which the stream is acknowledged, and up to which it has been sent.
        var end: Int64
        var sent: Int64
    }

    /// Grows the window.
    mutating func receive(_ acknowledgement: Acknowledgement) {
        leastRoundTrip = min(leastRoundTrip, acknowledgement.roundTrip)
        var count = Double(acknowledgement.count)
        if segments < threshold {
            if isCubic { watchSlowStart(acknowledgement) }
            let grown = min(segments + count, max(threshold, segments))
            count -= grown - segments
            segments = grown
            guard count > 0 else { return }
        }
        grow(count, interval: isCubic ? cubicInterval(at: acknowledgement.moment, count) : segments)
    }

    /// Grows the window by a segment for each `interval` acknowledged ones. It counts whole segments, as Linux does: half a
    /// segment more would take longer to earn the next.
    private mutating func grow(_ count: Double, interval: Double) {
        if credit >= interval {
            credit = 0
            segments += 1
        }
        credit += count
        guard credit >= interval else { return }
        let more = (credit / interval).rounded(.down)
        credit -= more * interval
        segments += more
    }

    /// Sets the threshold after a loss.
    mutating func decrease() {
        credit = 0
        guard isCubic else {
            threshold = max(2, (segments / 2).rounded(.down))
            return
        }
        epoch = nil
        plateau = segments < plateau ? segments * (1 + Self.cubicDecrease) / 2 : segments
        threshold = max(2, (segments * Self.cubicDecrease).rounded(.down))
    }

    /// Forgets what was known before the timer fired.
    mutating func timeOut() {
        (plateau, timeToPlateau, origin, friendly, epoch) = (0, 0, 0, 0, nil)
        roundEnd = .min
    }

    /// Restarts after an idle time longer than the retransmission timer (RFC 5681, section 4.1), which no epoch counts.
    mutating func restart() {
        threshold = max(threshold, segments * 3 / 4)
        segments = min(segments, Self.initial)
        epoch = nil
        roundEnd = .min
    }

    /// The number of acknowledged segments for which the window grows by one: RFC 9438, sections 4.2 to 4.4.
    private mutating func cubicInterval(at moment: Int64, _ count: Double) -> Double {
        if epoch == nil {
            epoch = moment
            friendly = segments
            friendlyCredit = 0
            timeToPlateau = plateau > segments ? cbrt((plateau - segments) / Self.growth) : 0
            origin = max(plateau, segments)
        }
        let age = moment.subtractingSaturated(epoch ?? moment).addingSaturated(leastRoundTrip)
        let distance = Double(age) / 1e9 - timeToPlateau
        let target = (origin + Self.growth * distance * distance * distance).rounded(.down)
        var interval = target > segments ? (segments / (target - segments)).rounded(.down) : 100 * segments
        // The first epoch has no plateau to go by.
        if plateau == 0 { interval = min(interval, 20) }
        friendlyCredit += count
        let friendlyInterval = (segments * Self.friendlyRounds).rounded(.down)
        let more = (friendlyCredit / friendlyInterval).rounded(.down)
        friendlyCredit -= more * friendlyInterval
        friendly += more
        if friendly > segments { interval = min(interval, (segments / (friendly - segments)).rounded(.down)) }
        return max(interval, 2)
    }

    /// HyStart: ends slow start when the acknowledgements of a round come closely for half of a round trip, or late (S. Ha
    /// and I. Rhee, "Taming the elephants: new TCP slow start", 2011).
    private mutating func watchSlowStart(_ acknowledgement: Acknowledgement) {
        let moment = acknowledgement.moment
        if acknowledgement.end > roundEnd {
            roundEnd = acknowledgement.sent
            (roundStart, trainEnd) = (moment, moment)
            (roundTrip, samples) = (.max, 0)
        }
        guard segments >= Self.leastForHyStart else { return }
        if moment - trainEnd <= 2_000_000 {
            trainEnd = moment
            if moment - roundStart > leastRoundTrip / 2 { threshold = segments }
        }
        roundTrip = min(roundTrip, acknowledgement.roundTrip)
        samples += 1
        let delay = min(max(leastRoundTrip / 8, 4_000_000), 16_000_000)
        if samples >= 8, roundTrip > leastRoundTrip.addingSaturated(delay) { threshold = segments }
    }
}
