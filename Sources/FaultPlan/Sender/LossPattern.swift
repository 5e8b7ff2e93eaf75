import FaultProfile
import Glibc
import Units

/// Which segments of a stream are lost: a function of a key and the number of the segment, and nothing else.
///
/// Losses are found from one to the next, by drawing the gap between them. The segments are taken in blocks
/// of which each begins with draws of its own, so the pattern can be looked at from anywhere without walking
/// there, and gaps of any length cost a draw for each block.
struct LossPattern {
    /// The segments of a block.
    static let blockLength: Int64 = 8_192

    private let rate: Double
    private let burst: Double
    private let isIndependent: Bool
    /// The natural logarithms of the chances that a gap, or a burst, goes on for another segment.
    private let gapGoesOn: Double
    private let burstGoesOn: Double
    private let gapKey: RandomKey
    private let burstKey: RandomKey
    private let blockKey: RandomKey
    private let retransmissionKey: RandomKey
    /// The lost segments that were found last; empty when there are none.
    private var first: Int64 = 0
    private var end: Int64 = 0
    /// Up to where the pattern is known.
    private var known: Int64 = 0

    init(_ loss: Loss, key: RandomKey) {
        rate = loss.rate.fraction
        burst = Double(loss.burst)
        isIndependent = loss.burst <= 1
        let goodToBad = isIndependent ? rate : min(1, rate / (burst * (1 - rate)))
        gapGoesOn = log1p(-goodToBad)
        burstGoesOn = log1p(-1 / burst)
        gapKey = key.adding(1)
        burstKey = key.adding(2)
        blockKey = key.adding(3)
        retransmissionKey = key.adding(4)
    }

    /// The first lost segments in a row from `segment` on, if the first of them is below `limit`.
    mutating func firstRun(from segment: Int64, before limit: Int64) -> (first: Int64, end: Int64)? {
        guard rate > 0 else { return nil }
        if segment / Self.blockLength > known / Self.blockLength {
            known = segment / Self.blockLength * Self.blockLength
            (first, end) = (known, known)
        }
        while end <= segment || first == end {
            guard known < limit else { return nil }
            findNext()
        }
        let found = max(first, segment)
        return found < limit ? (found, end) : nil
    }

    /// How many times a lost segment is sent again in vain. After a burst that took everything in flight
    /// the next packet on the channel is the one that is sent again, so the burst may go on with it; after
    /// that, so much time has passed that the channel has forgotten it.
    func failedRetransmissions(of segment: Int64, afterWholeFlight: Bool, limit: Int) -> Int {
        var chance = afterWholeFlight && !isIndependent ? 1 - 1 / burst : rate
        var count = 0
        while count < limit, retransmissionKey.adding(UInt64(count)).fraction(at: segment) < chance {
            count += 1
            chance = rate
        }
        return count
    }

    private mutating func findNext() {
        let blockEnd = (known / Self.blockLength + 1) * Self.blockLength
        if !isIndependent, known.isMultiple(of: Self.blockLength), blockKey.fraction(at: known) < rate {
            first = known
        } else {
            let gap = length(gapKey.fraction(at: known), goesOn: gapGoesOn)
            first = known + (isIndependent ? gap : gap + 1)
        }
        guard first < blockEnd else {
            (first, end, known) = (blockEnd, blockEnd, blockEnd)
            return
        }
        let more = isIndependent ? 0 : length(burstKey.fraction(at: first), goesOn: burstGoesOn)
        end = min(blockEnd, first + 1 + more)
        known = end
    }

    /// A length of zero or more, drawn from a geometric distribution.
    private func length(_ draw: Double, goesOn: Double) -> Int64 {
        Int64(min(log1p(-draw) / goesOn, Double(Self.blockLength)))
    }
}
