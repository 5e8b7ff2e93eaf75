import FaultProfile
import Glibc
import Units

/// Which segments of a stream are lost: a function of a key and the segment's number alone.
///
/// Losses are found by drawing the gaps between them. Segments are grouped in blocks with draws of their own, so that the
/// pattern can be read from any segment, and a gap costs at most one draw for each block.
struct LossPattern {
    /// The segments of a block.
    static let blockLength: Int64 = 8_192

    private let rate: Double
    private let burst: Double
    private let isIndependent: Bool
    /// The chance that a burst begins with a segment that follows one which wasn't lost.
    private let goodToBad: Double
    /// The natural logarithms of the chances that a gap or a burst continues for another segment.
    private let gapLogarithm: Double
    private let burstLogarithm: Double
    private let gapKey: RandomKey
    private let burstKey: RandomKey
    private let blockKey: RandomKey
    private let retransmissionKey: RandomKey
    /// The last run of lost segments found; empty if there is none.
    private var first: Int64 = 0
    private var end: Int64 = 0
    /// The segment up to which the pattern is known.
    private var known: Int64 = 0

    init(_ loss: Loss, key: RandomKey) {
        rate = loss.rate.fraction
        burst = Double(loss.burst)
        isIndependent = loss.burst <= 1
        goodToBad = isIndependent ? rate : min(1, rate / (burst * (1 - rate)))
        gapLogarithm = log1p(-goodToBad)
        burstLogarithm = log1p(-1 / burst)
        gapKey = key.adding(1)
        burstKey = key.adding(2)
        blockKey = key.adding(3)
        retransmissionKey = key.adding(4)
    }

    /// The first run of lost segments at or after `segment`; `nil` if it doesn't begin before `limit`.
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

    /// Whether the first transmission of a segment is lost.
    mutating func isLost(_ segment: Int64) -> Bool {
        // Most lie in front of the next run, or in a block without another one.
        if segment < first { return false }
        return firstRun(from: segment, before: segment + 1) != nil
    }

    /// Whether a packet is lost that begins a flight at `offset`, within a segment.
    func isLostAlone(_ offset: Int64, afterLoss: Bool) -> Bool {
        retransmissionKey.fraction(at: offset) < chance(afterLoss: afterLoss)
    }

    /// Whether the retransmission number `attempt`, from 1, of what begins at `offset` is lost.
    func isLostAgain(_ offset: Int64, _ attempt: Int, afterLoss: Bool) -> Bool {
        retransmissionKey.adding(UInt64(attempt)).fraction(at: offset) < chance(afterLoss: afterLoss)
    }

    /// The chance of a loss after a packet that was lost, or that wasn't.
    private func chance(afterLoss: Bool) -> Double {
        isIndependent ? rate : afterLoss ? 1 - 1 / burst : goodToBad
    }

    private mutating func findNext() {
        let blockEnd = (known / Self.blockLength + 1) * Self.blockLength
        if !isIndependent, known.isMultiple(of: Self.blockLength), blockKey.fraction(at: known) < rate {
            first = known
        } else {
            let gap = length(gapKey.fraction(at: known), logarithm: gapLogarithm)
            first = known + (isIndependent ? gap : gap + 1)
        }
        guard first < blockEnd else {
            (first, end, known) = (blockEnd, blockEnd, blockEnd)
            return
        }
        let more = isIndependent ? 0 : length(burstKey.fraction(at: first), logarithm: burstLogarithm)
        end = min(blockEnd, first + 1 + more)
        known = end
    }

    /// A length of zero or more, drawn from a geometric distribution.
    private func length(_ draw: Double, logarithm: Double) -> Int64 {
        Int64(min(log1p(-draw) / logarithm, Double(Self.blockLength)))
    }
}
