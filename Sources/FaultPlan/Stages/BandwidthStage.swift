import FaultProfile
import Units

/// A rate of one link.
///
/// The bytes that may have passed are a line through an anchor: an offset at a time, plus what the rate carries since. Times
/// are ages of the connection. The anchor moves only when the link has been idle, when the sink has fallen behind by more
/// than `latenessAllowance`, or when another stage is slower. So rounding errors don't accumulate, and a late timer costs
/// no throughput (`Lateness`). The end of a stream needs no rate.
struct BandwidthStage: FaultStage {
    /// How far a sink may fall behind and still catch up: 250 ms. What other stages hold back is lost at once.
    static let latenessAllowance: Int64 = 250_000_000
    /// The longest time of a quantum: 10 ms.
    static let longestQuantum: Int64 = 10_000_000

    private let curve: RateCurve
    private let burst: Int64
    /// The quantum of a constant rate, and the bytes that it carries in `latenessAllowance`.
    private let steady: (quantum: Int64, lateness: Int64)?
    private var anchorOffset: Int64 = 0
    private var anchorTime: Int64?
    private var isBusy = false
    /// Until when an idle source counts as busy, because it had to wait for a late call.
    private var recovery = Int64.min
    /// The bytes due, below a quantum, when an outage began.
    private var owed: Int64 = 0
    private var announcement = Announcement()
    /// The line's offset at the last call, if the fault was on.
    private var offered = Int64.min
    /// What is kept for the next call of what other stages hold back: a quantum, or the burst.
    private var kept: Int64 = 0

    init(_ bandwidth: Bandwidth) {
        curve = RateCurve(bandwidth)
        burst = bandwidth.burst.bytes
        let rate = bandwidth.rate
        steady = curve.isSteady ? (Self.quantum(of: rate), rate.bytes(inNanoseconds: Self.latenessAllowance)) : nil
    }

    var traits: StageTraits {
        StageTraits(measuresAvailability: true, isIdleWhenDrained: true, isPaced: true, isRate: true)
    }

    /// The bytes that pass at a time: those of a millisecond, or at low rates a segment of 1,460 bytes, but no more than
    /// those of 10 ms.
    static func quantum(of rate: BitRate) -> Int64 {
        let millisecond = rate.bytes(inNanoseconds: 1_000_000)
        return max(1, min(max(millisecond, 1_460), rate.bytes(inNanoseconds: longestQuantum)))
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        offered = .min
        guard context.isActive else {
            isBusy = false
            recovery = .min
            owed = 0
            announcement.end(at: context.passed)
            return progress
        }
        let wanted = progress.bytesAtAvailableEnd
        guard wanted > context.passed || progress.isThrottled else {
            if isBusy, let anchorTime {
                // The part of a quantum isn't lost: if a rate is on again and again for less time than a quantum
                // takes, nothing would ever pass.
                let due = line(from: anchorTime, at: context.age).subtractingSaturated(context.passed)
                owed = min(max(due, 0), Self.quantum(of: curve.rate(at: context.age)))
            }
            isBusy = false
            // The source isn't what holds back.
            if context.waiting > wanted { recovery = .min }
            return progress
        }
        if wanted > context.passed, announcement.begin(at: context.passed) { context.effect = .limits }
        if isBusy { recovery = context.catchUp.until }
        let now = context.age
        let quantum = steady?.quantum ?? Self.quantum(of: curve.rate(at: now))
        let (start, limit) = anchor(now: now, quantum: quantum, &context)
        owed = 0
        offered = limit
        kept = max(burst, quantum)
        // Without further bytes the link is idle from here on.
        isBusy = wanted > min(limit, progress.bytes) || progress.isThrottled
        if wanted > limit || context.feed == nil {
            let time = start.addingSaturated(context.now.nanoseconds.subtractingSaturated(now))
            let hasMore = wanted > limit || progress.isThrottled
            context.feed = steady.map { _ in
                Feed(
                    offset: anchorOffset,
                    start: time,
                    rate: curve.first,
                    quantum: quantum,
                    kept: kept,
                    hasMore: hasMore
                )
            }
        }
        if wanted <= limit { return progress }
        let target = min(wanted, limit.addingSaturated(quantum))
        var wake = curve.time(from: start, forBytes: target.subtractingSaturated(anchorOffset))
        if !curve.isSteady, wake > now.addingSaturated(Self.longestQuantum) {
            // The rate is about to fall, so a quantum takes longer.
            let next = curve.time(from: start, forBytes: limit.addingSaturated(1).subtractingSaturated(anchorOffset))
            wake = max(next, now.addingSaturated(Self.longestQuantum))
        }
        context.wake(at: context.now.advanced(byNanoseconds: wake.subtractingSaturated(now)))
        return progress.throttled(at: limit)
    }

    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 { curve.rateConstantFor(after: time.age) }

    /// Gives up what other stages, which let bytes come to `availableEnd`, don't use, except the burst or a quantum.
    mutating func settle(at availableEnd: Int64, now: Moment) {
        let excess = offered.subtractingSaturated(availableEnd).subtractingSaturated(kept)
        guard excess > 0 else { return }
        anchorOffset = anchorOffset.subtractingSaturated(excess)
        offered -= excess
    }

    /// Moves the anchor if necessary; returns its time and the line's offset by now. The first bytes of a link find the
    /// whole burst.
    private mutating func anchor(now: Int64, quantum: Int64, _ context: inout StageContext) -> (
        start: Int64, limit: Int64
    ) {
        let passed = context.passed
        var anchorTime = anchorTime
        let limit = anchorTime.map { line(from: $0, at: now) }
        // The bytes of the line since its anchor are about to be too many for a number.
        if let limit, anchorOffset < -(1 << 61) {
            (anchorOffset, self.anchorTime) = (limit, now)
            anchorTime = now
        }
        let credit = limit?.subtractingSaturated(passed) ?? .max
        // A busy link is called when a quantum is due, or late; one byte is for rounding.
        let span = context.now.nanoseconds.subtractingSaturated(context.catchUp.from)
        let lateness: Int64
        if let steady, span <= Self.latenessAllowance {
            lateness = steady.lateness.addingSaturated(quantum + 1)
        } else {
            lateness = curve.bytes(from: now.subtractingSaturated(span), to: now).addingSaturated(quantum + 1)
        }
        let makesUp = isBusy || context.now.nanoseconds <= recovery
        let allowance = makesUp ? burst.addingSaturated(lateness) : max(burst, owed)
        if let anchorTime, let limit, credit <= allowance, isBusy || credit >= 0 { return (anchorTime, limit) }
        if isBusy, context.catchUp.isLate, limit != nil { context.lose(credit.subtractingSaturated(allowance)) }
        anchorOffset = passed.addingSaturated(min(max(credit, 0), allowance))
        self.anchorTime = now
        return (now, anchorOffset)
    }

    private func line(from start: Int64, at now: Int64) -> Int64 {
        anchorOffset.addingSaturated(curve.bytes(from: start, to: now))
    }
}

extension Bandwidth: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        if let rate = place.rate { return (.sharedRate, .sharedBandwidth(Box(SharedBandwidthStage(rate)))) }
        return (.rate, .bandwidth(Box(BandwidthStage(self))))
    }
}
