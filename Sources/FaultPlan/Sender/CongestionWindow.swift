import FaultProfile
import Glibc
import Units

/// The congestion window of a virtual sender, in segments, updated each round.
///
/// Reno is RFC 5681 with an acknowledgement for each segment. CUBIC is RFC 9438 with fast convergence and the
/// Reno-friendly window. BBR keeps the link full, whatever is lost.
struct CongestionWindow {
    /// The window at the start and after an idle time: 10 segments (RFC 6928).
    static let initial = 10.0
    /// C of RFC 9438, in segments per cubic second.
    private static let growth = 0.4

    private let sender: Loss.Sender
    /// The factor of the window after a loss: β.
    private let decrease: Double
    /// The growth of the Reno-friendly window in a round: 3(1 − β)/(1 + β) (RFC 9438, section 4.3).
    private let friendlyIncrease: Double
    private let largest: Double
    private let roundTrip: Int64
    private(set) var segments = CongestionWindow.initial
    private let firstThreshold: Double
    private var threshold: Double
    /// Segments lost in the previous round, which are retransmitted in this one.
    private var retransmissions: Int64 = 0
    /// W_max, the window before the last loss; K; W_est; and the start of the epoch, in nanoseconds.
    private var plateau = 0.0
    private var timeToPlateau = 0.0
    private var friendly = 0.0
    private var epoch: Int64?

    /// Makes a window of at most `largest` segments, or 10 if that is more.
    ///
    /// Slow start ends at twice the mean window of the square-root law, √1.5/√p with p = `lossEvents` per segment, because
    /// Linux caches the threshold of earlier connections.
    init(_ sender: Loss.Sender, roundTrip: Int64, largest: Double, lossEvents: Double) {
        firstThreshold = lossEvents > 0 ? 2 * (1.5 / lossEvents).squareRoot() : .infinity
        threshold = firstThreshold
        self.sender = sender
        self.largest = max(Self.initial, largest)
        decrease = sender == .cubic ? 0.7 : 0.5
        friendlyIncrease = 3 * (1 - decrease) / (1 + decrease)
        self.roundTrip = roundTrip
    }

    /// The number of new segments in the next round.
    var capacity: Int64 { max(1, Int64(segments) - retransmissions) }

    /// The outcome of a round.
    struct Outcome {
        /// The number of sent segments.
        var sent: Int64
        /// Whether the window limited the round, and not a lack of bytes.
        var isFull: Bool
        /// The number of lost segments.
        var lost: Int64
        /// Whether a retransmission timer fired.
        var hasTimedOut: Bool
        /// When the round ended, in nanoseconds.
        var end: Int64
    }

    /// Updates the window after a round.
    mutating func take(_ outcome: Outcome) {
        switch sender {
        case .bbr:
            if outcome.isUsed(of: segments) { segments *= 2 }
        case .reno, .cubic:
            if outcome.lost > 0 {
                shrink(outcome)
            } else {
                // The window doesn't grow in the round that repairs a loss.
                if retransmissions == 0 { grow(outcome) }
                retransmissions = 0
            }
        }
        segments = min(segments, largest)
    }

    /// Resets the window for a new connection.
    mutating func begin() {
        segments = Self.initial
        threshold = firstThreshold
        retransmissions = 0
        plateau = 0
        epoch = nil
    }

    /// Restarts after an idle time longer than the retransmission timer (RFC 5681, section 4.1).
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
        // The epoch begins after the round that repairs the loss.
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

    /// CUBIC's window a round trip after `moment`.
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
    /// Whether the round used at least half of the window, so that its outcome says something about the path.
    fileprivate func isUsed(of segments: Double) -> Bool { Double(sent) * 2 >= segments }
}
