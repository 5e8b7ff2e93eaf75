import FaultProfile
import Units

/// A rate for one link.
///
/// What may have passed is a line through an anchor: so many bytes at the anchor's moment, and the
/// rate from there. The anchor moves only when the link has been idle, or when whoever takes the
/// bytes has fallen behind by more than `latenessAllowance`; so rounding never adds up, and a timer
/// that fires late costs no throughput. The end of a stream is no byte and needs no rate.
struct BandwidthStage {
    /// How far a busy link may fall behind the line and still catch up: 250 ms.
    static let latenessAllowance: Int64 = 250_000_000

    private let rate: BitRate
    private let burst: Int64
    private let quantum: Int64
    private var anchorOffset: Int64 = 0
    private var anchorTime: Int64?
    private var isBusy = false
    private var announced = false

    init(_ bandwidth: Bandwidth) {
        rate = bandwidth.rate
        burst = bandwidth.burst.bytes
        quantum = Self.quantum(of: rate)
    }

    /// The bytes that are let out at a time: those of a millisecond, or at low rates one segment of
    /// 1,460 bytes, but no more than those of 10 ms.
    static func quantum(of rate: BitRate) -> Int64 {
        let millisecond = rate.bytes(inNanoseconds: 1_000_000)
        return max(1, min(max(millisecond, 1_460), rate.bytes(inNanoseconds: 10_000_000)))
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive else {
            isBusy = false
            announced = false
            return reach
        }
        let wanted = reach.bytesAtHorizon
        guard wanted > visit.passed else {
            isBusy = false
            return reach
        }
        if !announced {
            announced = true
            visit.effect = .limits
        }
        let now = visit.now.nanoseconds
        let start = anchor(passed: visit.passed, now: now)
        let limit = line(from: start, at: now)
        // With nothing behind it, the link is idle from here on, even if nobody asks again until then.
        isBusy = wanted > min(limit, reach.bytes)
        if wanted <= limit { return reach }
        let target = min(wanted, limit.addingSaturated(quantum))
        let needed = rate.nanoseconds(forBytes: target - anchorOffset)
        visit.wake(at: Moment(nanoseconds: start.addingSaturated(needed)))
        var passing = reach
        passing.clamp(to: limit)
        return passing
    }

    /// Moves the anchor if it has to move, and returns its moment. A link that wants to pass bytes for
    /// the first time finds the whole burst.
    private mutating func anchor(passed: Int64, now: Int64) -> Int64 {
        let credit = anchorTime.map { line(from: $0, at: now).subtractingSaturated(passed) } ?? .max
        // A busy link comes when a quantum is due, and up to the allowance later; one byte is for rounding.
        let lateness = rate.bytes(inNanoseconds: Self.latenessAllowance).addingSaturated(quantum + 1)
        let allowance = isBusy ? burst.addingSaturated(lateness) : burst
        if let anchorTime, credit <= allowance, isBusy || credit >= 0 { return anchorTime }
        anchorOffset = passed.addingSaturated(min(max(credit, 0), allowance))
        anchorTime = now
        return now
    }

    private func line(from start: Int64, at now: Int64) -> Int64 {
        anchorOffset.addingSaturated(rate.bytes(inNanoseconds: now.subtractingSaturated(start)))
    }
}
