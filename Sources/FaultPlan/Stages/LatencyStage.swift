import DequeModule
import FaultProfile
import Units

/// A delay line: releases each interval of bytes a delay after its arrival. The arrival is the kernel's time stamp if this
/// is the first stage that holds bytes, else the time at which the stage took them in.
///
/// A delay is drawn by the position of the first byte that came at one moment, and again at every multiple of
/// `intervalLength`. So it doesn't depend on read sizes nor, without correlation, on earlier draws. Where a rate paces the
/// bytes, which of them come first at a moment depends on microseconds, so all of a segment (1,448 bytes) have one draw. Bytes
/// keep their order.
struct LatencyStage: FaultStage {
    /// The most bytes of an interval with jitter; a new delay is drawn at every multiple.
    static let intervalLength: Int64 = 16 << 10
    /// The most intervals; beyond it a new interval joins the last. From half of it on, intervals due within
    /// `jointFraction` of the delay are joined.
    static let intervalLimit = 8_192
    /// The fraction of the delay by which an interval may be late when very many are in the line.
    static let jointFraction: Int64 = 2_048

    private struct Interval {
        var end: Int64
        /// When it may leave, in nanoseconds.
        var release: Int64
    }

    private var draws: DelayDraws
    /// The delay without jitter and spikes.
    private let fixed: Int64
    private let spikes: SpikeTimes?
    /// How late an interval may leave when very many are in the line.
    private let tolerance: Int64
    let delays: Bool
    /// How far apart two delays may lie, in nanoseconds.
    private let spread: Int64
    private var intervals: Deque<Interval> = []
    private var arrived: Int64 = 0
    private var released: Int64 = 0
    private var end: Int64 = -1
    private var lastRelease: Int64 = .min
    /// When the last bytes are due by the delay and its spikes alone, as far as those act on the link.
    private var settledRelease: Int64 = .min
    /// When the first part of the last interval was due.
    private var jointRelease: Int64 = .min
    private var batchStart: Int64 = 0
    private var batchTime: Int64?
    private var announcement = Announcement()

    init(_ latency: Latency, key: RandomKey, commonKey: RandomKey) {
        draws = DelayDraws(latency, key: key)
        fixed = latency.delay.nanoseconds
        spikes = latency.spikes.map { SpikeTimes($0, key: key, commonKey: commonKey) }
        let maxJitter =
            if case .quantiles(let table) = latency.distribution { table.last ?? .zero } else { latency.jitter }
        delays = latency.delay > .zero || maxJitter > .zero || latency.spikes != nil
        spread = draws.spread.addingSaturated(latency.spikes?.extra.nanoseconds ?? 0)
        tolerance = latency.delay.nanoseconds.addingSaturated(maxJitter.nanoseconds) / Self.jointFraction
    }

    var traits: StageTraits {
        StageTraits(
            holds: true,
            decidesOnEntry: true,
            countsFromArrival: delays,
            isIdleWhenDrained: true,
            delayFalls: spikes?.isBehind == false ? .atTimes : .withFault,
            delaySpread: spread
        )
    }

    var count: Int { intervals.count }

    var work: Int { draws.cost / 4 }

    /// How late it may be called beside a rate: until a spike begins or ends.
    func rateConstantFor(after now: Moment, _ time: LinkTime) -> Int64 { spikes?.change(after: time) ?? .max }

    /// See `FaultStage.standstill`. Jitter doesn't count: it is the network behind the link.
    func standstill(at now: Moment, _ time: LinkTime, isActive: Bool) -> Moment? {
        let spike = isActive ? spikes.map { $0.isBehind ? 0 : $0.extra(at: time) } ?? 0 : 0
        let due = min(settledRelease, lastRelease)
        let arrival = due.subtractingSaturated((isActive ? fixed : 0).addingSaturated(spike))
        guard arrival > now.nanoseconds else { return nil }
        let change = now.nanoseconds.addingSaturated(isActive ? spikes?.change(after: time) ?? .max : .max)
        return Moment(nanoseconds: min(arrival, change))
    }

    mutating func begin(at position: Int64) { (arrived, released, batchStart) = (position, position, position) }

    mutating func withdrawEnd(after position: Int64) {
        end = -1
        arrived = min(arrived, position)
        released = min(released, position)
        // The end came last.
        guard let last = intervals.last else { return }
        intervals[intervals.count - 1].end = min(last.end, position)
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        let now = context.now.nanoseconds
        if progress.hasEnded { end = progress.position }
        if !context.isActive {
            announcement.end(at: arrived)
        } else if progress.availableEnd > arrived, announcement.begin(at: arrived) {
            context.effect = .delays
        }
        if progress.position > arrived {
            if context.isActive {
                let spike = spikes?.extra(at: context.time) ?? 0
                let arrival = context.arrival.nanoseconds
                let settled = spikes?.isBehind == true ? fixed : fixed.addingSaturated(spike)
                settledRelease = max(settledRelease, arrival.addingSaturated(settled))
                record(upTo: progress.position, isPaced: progress.isThrottled, from: arrival, at: now, spike: spike)
            } else {
                append(end: progress.position, release: max(now, lastRelease))
            }
        }
        while let first = intervals.first, first.release <= now {
            released = first.end
            intervals.removeFirst()
        }
        if let first = intervals.first { context.wake(at: Moment(nanoseconds: first.release)) }
        return StreamProgress(position: released, availableEnd: max(released, arrived), hasEnded: released == end)
    }

    private mutating func record(
        upTo position: Int64,
        isPaced: Bool,
        from arrival: Int64,
        at now: Int64,
        spike: Int64
    ) {
        guard draws.vary else {
            let release = arrival.addingSaturated(draws.delay(at: 0)).addingSaturated(spike)
            append(end: position, release: max(release, lastRelease))
            return
        }
        if batchTime != now {
            batchTime = now
            batchStart = arrived
        }
        while arrived < position {
            let multiple = arrived / Self.intervalLength * Self.intervalLength
            let first = max(batchStart, multiple)
            let delay = draws.delay(at: isPaced ? first - first % VirtualSender.segment : first).addingSaturated(spike)
            let end = min(position, multiple + Self.intervalLength)
            append(end: end, release: max(arrival.addingSaturated(delay), lastRelease))
        }
    }

    private mutating func append(end: Int64, release: Int64) {
        arrived = end
        lastRelease = release
        if count > 0, joinsLast(release) {
            intervals[count - 1] = Interval(end: end, release: release)
            return
        }
        jointRelease = release
        intervals.append(Interval(end: end, release: release))
    }

    private func joinsLast(_ release: Int64) -> Bool {
        let allowed = count < Self.intervalLimit / 2 ? 0 : tolerance
        return count == Self.intervalLimit || release.subtractingSaturated(jointRelease) <= allowed
    }
}

extension Latency: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        let stage = LatencyStage(self, key: place.key, commonKey: place.commonKey)
        return (spikes?.isBehind == false ? .spikes : .delay, .latency(Box(stage)))
    }
}
