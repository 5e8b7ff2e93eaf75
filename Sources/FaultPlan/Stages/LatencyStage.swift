import FaultProfile
import Units

/// A delay line: remembers when each interval of bytes arrived and lets it out a delay later. The arrival is the kernel's
/// time stamp if this is the first stage that holds bytes, else the moment at which the stage took them in.
///
/// A delay is drawn by the position of the first byte that came at one moment, and again at every
/// multiple of `intervalLength`; so it doesn't depend on how many reads took the bytes in, nor, without
/// correlation, on what was drawn before. Order is kept: nothing leaves before what came in front of it.
struct LatencyStage: FaultStage {
    /// With jitter, a interval is at most this many bytes: a new delay is drawn at every multiple.
    static let intervalLength: Int64 = 16 << 10
    /// The intervals that are remembered; beyond it a new one joins the last and leaves with it. From
    /// half of it on, those that are due within a `jointFraction` of the delay leave together.
    static let intervalLimit = 8_192
    /// The part of the delay by which a interval may leave late when very many are in the line.
    static let jointFraction: Int64 = 2_048

    private struct Interval {
        /// The position at which the interval ends.
        var end: Int64
        /// The nanosecond at which it may leave.
        var release: Int64
    }

    private var draws: DelayDraws
    private let spikes: SpikeTimes?
    /// By how much a interval may leave late when very many are in the line.
    private let tolerance: Int64
    /// Whether bytes are ever let out later than they came.
    let delays: Bool
    private var intervals: [Interval] = []
    private var head = 0
    /// The intervals that are in the line.
    private(set) var count = 0
    private var arrived: Int64 = 0
    private var released: Int64 = 0
    private var end: Int64 = -1
    private var lastRelease: Int64 = .min
    /// When the oldest part of the last interval was due.
    private var jointRelease: Int64 = .min
    private var batchStart: Int64 = 0
    private var batchTime: Int64?
    private var announcement = Announcement()

    init(_ latency: Latency, key: RandomKey) {
        draws = DelayDraws(latency, key: key)
        spikes = latency.spikes.map { SpikeTimes($0, key: key) }
        let progress =
            if case .quantiles(let table) = latency.distribution { table.last ?? .zero } else { latency.jitter }
        delays = latency.delay > .zero || progress > .zero || latency.spikes != nil
        tolerance = latency.delay.nanoseconds.addingSaturated(progress.nanoseconds) / Self.jointFraction
    }

    var traits: StageTraits {
        StageTraits(holds: true, decidesOnEntry: true, countsFromArrival: delays, isIdleWhenDrained: true)
    }

    /// What it has worked out so far, see `Link.work`.
    var work: Int { draws.cost / 4 }

    /// Begins in the middle of a stream, see `Stage.begin`.
    mutating func begin(at position: Int64) { (arrived, released, batchStart) = (position, position, position) }

    /// Forgets an end of the stream, see `Stage.withdrawEnd`.
    mutating func withdrawEnd(behind position: Int64) {
        end = -1
        arrived = min(arrived, position)
        released = min(released, position)
        guard count > 0 else { return }
        // The end was the last to come.
        let last = (head + count - 1) & (intervals.count - 1)
        intervals[last].end = min(intervals[last].end, position)
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
                let spike = spikes?.extra(atAge: context.age) ?? 0
                record(upTo: progress.position, from: context.arrival.nanoseconds, at: now, spike: spike)
            } else {
                append(end: progress.position, release: max(now, lastRelease))
            }
        }
        while count > 0, intervals[head].release <= now {
            released = intervals[head].end
            head = (head + 1) & (intervals.count - 1)
            count -= 1
        }
        if count > 0 { context.wake(at: Moment(nanoseconds: intervals[head].release)) }
        return StreamProgress(position: released, availableEnd: max(released, arrived), hasEnded: released == end)
    }

    private mutating func record(upTo position: Int64, from arrival: Int64, at now: Int64, spike: Int64) {
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
            let delay = draws.delay(at: max(batchStart, multiple)).addingSaturated(spike)
            let end = min(position, multiple + Self.intervalLength)
            append(end: end, release: max(arrival.addingSaturated(delay), lastRelease))
        }
    }

    private mutating func append(end: Int64, release: Int64) {
        arrived = end
        lastRelease = release
        if count > 0, joinsLast(release) {
            let last = (head + count - 1) & (intervals.count - 1)
            intervals[last] = Interval(end: end, release: release)
            return
        }
        jointRelease = release
        if count == intervals.count { grow() }
        intervals[(head + count) & (intervals.count - 1)] = Interval(end: end, release: release)
        count += 1
    }

    private func joinsLast(_ release: Int64) -> Bool {
        let allowed = count < Self.intervalLimit / 2 ? 0 : tolerance
        return count == Self.intervalLimit || release.subtractingSaturated(jointRelease) <= allowed
    }

    private mutating func grow() {
        var larger: [Interval] = []
        larger.reserveCapacity(max(8, intervals.count * 2))
        for index in 0..<count { larger.append(intervals[(head + index) & (intervals.count - 1)]) }
        let missing = max(8, intervals.count * 2) - larger.count
        larger.append(contentsOf: repeatElement(Interval(end: 0, release: 0), count: missing))
        intervals = larger
        head = 0
    }
}

extension Latency: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.delay, .latency(Box(LatencyStage(self, key: place.key))))
    }
}
