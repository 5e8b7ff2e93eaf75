import FaultProfile
import Glibc
import Units

/// The congestion window of a virtual sender, in segments, from round to round.
///
/// Reno is RFC 5681, with an acknowledgement for each segment. CUBIC is RFC 9438, with fast convergence and
/// the window that is friendly to Reno. BBR holds what the link takes, whatever is lost.
struct CongestionWindow {
    /// The window at the start and after an idle time: 10 segments (RFC 6928).
    static let initial = 10.0
    /// C of RFC 9438, in segments per cubic second.
    private static let growth = 0.4

    private let sender: Loss.Sender
    /// What is left of the window after a loss: β.
    private let decrease: Double
    /// By how much the friendly window grows in a round: 3(1 − β)/(1 + β) (RFC 9438, section 4.3).
    private let friendlyIncrease: Double
    private let largest: Double
    private let roundTrip: Int64
    private(set) var segments = CongestionWindow.initial
    private let firstThreshold: Double
    private var threshold: Double
    /// What was lost in the round before, and takes its share of this one because it is sent again.
    private var retransmissions: Int64 = 0
    /// W_max, the window before the last loss; K; W_est; and the start of the epoch, in nanoseconds.
    private var plateau = 0.0
    private var timeToPlateau = 0.0
    private var friendly = 0.0
    private var epoch: Int64?

    /// A window that holds `largest` segments at most, or 10 if that is more.
    ///
    /// Its slow start ends at twice the mean window of the square-root law, √1.5/√p for `lossEvents` of each
    /// segment: Linux remembers where the connections before came to, and starts a new one from that.
    init(_ sender: Loss.Sender, roundTrip: Int64, largest: Double, lossEvents: Double) {
        firstThreshold = lossEvents > 0 ? 2 * (1.5 / lossEvents).squareRoot() : .infinity
        threshold = firstThreshold
        self.sender = sender
        self.largest = max(Self.initial, largest)
        decrease = sender == .cubic ? 0.7 : 0.5
        friendlyIncrease = 3 * (1 - decrease) / (1 + decrease)
        self.roundTrip = roundTrip
    }

    /// The new segments that the next round may send.
    var capacity: Int64 { max(1, Int64(segments) - retransmissions) }

    /// What a round came to.
    struct Outcome {
        /// The segments that were sent.
        var sent: Int64
        /// Whether it was the window that ended it, and not a lack of bytes.
        var isFull: Bool
        /// The segments that were lost.
        var lost: Int64
        /// Whether a retransmission timer fired.
        var hasTimedOut: Bool
        /// When it ended, in nanoseconds.
        var end: Int64
    }

    /// Takes in what a round came to.
    mutating func take(_ outcome: Outcome) {
        switch sender {
        case .bbr:
            if outcome.isUsed(of: segments) { segments *= 2 }
        case .reno, .cubic:
            if outcome.lost > 0 {
                shrink(outcome)
            } else {
                // The round that repairs a loss doesn't grow the window.
                if retransmissions == 0 { grow(outcome) }
                retransmissions = 0
            }
        }
        segments = min(segments, largest)
    }

    /// Begins anew, as with a connection of its own.
    mutating func begin() {
        segments = Self.initial
        threshold = firstThreshold
        retransmissions = 0
        plateau = 0
        epoch = nil
    }

    /// Begins again after an idle time longer than the retransmission timer (RFC 5681, section 4.1).
    mutating func restart() {
        segments = min(segments, Self.initial)
        retransmissions = 0
        epoch = nil
    }

    private mutating func shrink(_ outcome: Outcome) {
        plateau = segments >= plateau ? segments : segments * (1 + decrease) / 2
        threshold = max(2, segments * decrease)
        if outcome.hasTimedOut {
            segments = 1
            retransmissions = 0
            epoch = nil
            return
        }
        segments = threshold
        retransmissions = outcome.lost
        // The epoch begins behind the round that repairs the loss.
        beginEpoch(at: outcome.end.addingSaturated(roundTrip))
    }

    private mutating func grow(_ outcome: Outcome) {
        if segments < threshold {
            guard outcome.isUsed(of: segments) else { return }
            segments = min(segments + Double(outcome.sent), threshold)
        } else if outcome.isFull {
            segments = sender == .cubic ? cubic(at: outcome.end) : segments + 1
        }
    }

    private mutating func beginEpoch(at moment: Int64) {
        epoch = moment
        timeToPlateau = plateau > segments ? cbrt((plateau - segments) / Self.growth) : 0
        friendly = segments
    }

    /// The window that CUBIC comes to a round trip after `moment`.
    private mutating func cubic(at moment: Int64) -> Double {
        if epoch == nil {
            plateau = max(plateau, segments)
            beginEpoch(at: moment)
        }
        let time = Double(moment.subtractingSaturated(epoch ?? moment)) / 1e9
        friendly += friendlyIncrease
        let distance = time + Double(roundTrip) / 1e9 - timeToPlateau
        let target = min(Self.growth * distance * distance * distance + plateau, 1.5 * segments)
        return max(segments, friendly, target)
    }
}

extension CongestionWindow.Outcome {
    /// Whether the round used half of a window or more, so that it says something about the path.
    fileprivate func isUsed(of segments: Double) -> Bool { Double(sent) * 2 >= segments }
}
