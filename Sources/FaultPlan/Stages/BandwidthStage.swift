import FaultProfile
import Units

/// A rate for one link.
///
/// What may have passed is a line through an anchor: so many bytes at the anchor's time, and what the
/// rate carries from there. Times are ages of the connection. The anchor moves only when the link has been idle, or when whoever takes the
/// bytes has fallen behind by more than `latenessAllowance`; so rounding never adds up, and a timer
/// that fires late costs no throughput. The end of a stream is no byte and needs no rate.
struct BandwidthStage {
    /// How far a busy link may fall behind the line and still catch up: 250 ms.
    static let latenessAllowance: Int64 = 250_000_000
    /// The time that the bytes let out at a time take at most: 10 ms.
    static let longestQuantum: Int64 = 10_000_000

    private let curve: RateCurve
    private let burst: Int64
    /// `quantum` of the rate, and what it carries in `latenessAllowance`, where it never changes.
    private let steady: (quantum: Int64, lateness: Int64)?
    private var anchorOffset: Int64 = 0
    private var anchorTime: Int64?
    private var isBusy = false
    /// What was due, below a quantum, when an outage came between.
    private var owed: Int64 = 0
    private var announcement = Announcement()

    init(_ bandwidth: Bandwidth) {
        curve = RateCurve(bandwidth)
        burst = bandwidth.burst.bytes
        let rate = bandwidth.rate
        steady = curve.isSteady ? (Self.quantum(of: rate), rate.bytes(inNanoseconds: Self.latenessAllowance)) : nil
    }

    /// The bytes that are let out at a time: those of a millisecond, or at low rates one segment of
    /// 1,460 bytes, but no more than those of 10 ms.
    static func quantum(of rate: BitRate) -> Int64 {
        let millisecond = rate.bytes(inNanoseconds: 1_000_000)
        return max(1, min(max(millisecond, 1_460), rate.bytes(inNanoseconds: longestQuantum)))
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive else {
            isBusy = false
            owed = 0
            announcement.end(at: visit.passed)
            return reach
        }
        let wanted = reach.bytesAtHorizon
        guard wanted > visit.passed else {
            if isBusy, let anchorTime {
                // Nothing was let out since the last whole quantum. It isn't lost: where a rate is on for a
                // shorter time than a quantum takes, again and again, nothing would ever pass.
                let due = line(from: anchorTime, at: visit.age).subtractingSaturated(visit.passed)
                owed = min(max(due, 0), Self.quantum(of: curve.rate(at: visit.age)))
            }
            isBusy = false
            return reach
        }
        if announcement.begin(at: visit.passed) { visit.effect = .limits }
        let now = visit.age
        let quantum = steady?.quantum ?? Self.quantum(of: curve.rate(at: now))
        let (start, limit) = anchor(passed: visit.passed, now: now, quantum: quantum)
        owed = 0
        // With nothing behind it, the link is idle from here on, even if nobody asks again until then.
        isBusy = wanted > min(limit, reach.bytes)
        if wanted <= limit { return reach }
        let target = min(wanted, limit.addingSaturated(quantum))
        var wake = curve.time(from: start, forBytes: target - anchorOffset)
        if !curve.isSteady, wake > now.addingSaturated(Self.longestQuantum) {
            // The rate is about to fall: what was a moment's bytes now takes long.
            let next = curve.time(from: start, forBytes: limit.addingSaturated(1) - anchorOffset)
            wake = max(next, now.addingSaturated(Self.longestQuantum))
        }
        visit.wake(at: visit.now.advanced(byNanoseconds: wake.subtractingSaturated(now)))
        var passing = reach
        passing.clamp(to: limit)
        return passing
    }

    /// Moves the anchor if it has to move, and returns its moment and where the line is by now. A link that wants to
    /// pass bytes for the first time finds the whole burst.
    private mutating func anchor(passed: Int64, now: Int64, quantum: Int64) -> (start: Int64, limit: Int64) {
        let limit = anchorTime.map { line(from: $0, at: now) }
        let credit = limit?.subtractingSaturated(passed) ?? .max
        // A busy link comes when a quantum is due, and up to the allowance later; one byte is for rounding.
        let before = now.subtractingSaturated(Self.latenessAllowance)
        let lateness = (steady?.lateness ?? curve.bytes(from: before, to: now)).addingSaturated(quantum + 1)
        let allowance = isBusy ? burst.addingSaturated(lateness) : max(burst, owed)
        if let anchorTime, let limit, credit <= allowance, isBusy || credit >= 0 { return (anchorTime, limit) }
        anchorOffset = passed.addingSaturated(min(max(credit, 0), allowance))
        anchorTime = now
        return (now, anchorOffset)
    }

    private func line(from start: Int64, at now: Int64) -> Int64 {
        anchorOffset.addingSaturated(curve.bytes(from: start, to: now))
    }
}
