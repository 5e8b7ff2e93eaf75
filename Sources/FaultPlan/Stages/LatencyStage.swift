import FaultProfile
import Units

/// A delay line: remembers when each stretch of bytes arrived and lets it out a delay later. If it is the first to hold
/// bytes, they have arrived when they came to this machine, and not when somebody had the time to take them.
///
/// A delay is drawn by the position of the first byte that came at one moment, and again at every
/// multiple of `stretchLength`; so it doesn't depend on how many reads took the bytes in, nor, without
/// correlation, on what was drawn before. Order is kept: nothing leaves before what came in front of it.
struct LatencyStage: FaultStage {
    /// With jitter, a stretch is at most this many bytes: a new delay is drawn at every multiple.
    static let stretchLength: Int64 = 16 << 10
    /// The stretches that are remembered; beyond it a new one joins the last and leaves with it. From
    /// half of it on, those that are due within a `jointFraction` of the delay leave together.
    static let stretchLimit = 8_192
    /// The part of the delay by which a stretch may leave late when very many are in the line.
    static let jointFraction: Int64 = 2_048

    private struct Stretch {
        /// The position at which the stretch ends.
        var end: Int64
        /// The nanosecond at which it may leave.
        var release: Int64
    }

    private var draws: DelayDraws
    private let spikes: SpikeTimes?
    /// By how much a stretch may leave late when very many are in the line.
    private let tolerance: Int64
    /// Whether bytes are ever let out later than they came.
    let delays: Bool
    private var stretches: [Stretch] = []
    private var head = 0
    /// The stretches that are in the line.
    private(set) var count = 0
    private var arrived: Int64 = 0
    private var released: Int64 = 0
    private var end: Int64 = -1
    private var lastRelease: Int64 = .min
    /// When the oldest part of the last stretch was due.
    private var jointRelease: Int64 = .min
    private var batchStart: Int64 = 0
    private var batchTime: Int64?
    private var announcement = Announcement()

    init(_ latency: Latency, key: RandomKey) {
        draws = DelayDraws(latency, key: key)
        spikes = latency.spikes.map { SpikeTimes($0, key: key) }
        let reach =
            if case .quantiles(let table) = latency.distribution { table.last ?? .zero } else { latency.jitter }
        delays = latency.delay > .zero || reach > .zero || latency.spikes != nil
        tolerance = latency.delay.nanoseconds.addingSaturated(reach.nanoseconds) / Self.jointFraction
    }

    var traits: StageTraits {
        StageTraits(holds: true, decidesOnEntry: true, countsFromArrival: delays, restsBehindAll: true)
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
        let last = (head + count - 1) & (stretches.count - 1)
        stretches[last].end = min(stretches[last].end, position)
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        let now = visit.now.nanoseconds
        if reach.hasEnded { end = reach.position }
        if !visit.isActive {
            announcement.end(at: arrived)
        } else if reach.horizon > arrived, announcement.begin(at: arrived) {
            visit.effect = .delays
        }
        if reach.position > arrived {
            if visit.isActive {
                let spike = spikes?.extra(atAge: visit.age) ?? 0
                record(upTo: reach.position, from: visit.arrival.nanoseconds, at: now, spike: spike)
            } else {
                append(end: reach.position, release: max(now, lastRelease))
            }
        }
        while count > 0, stretches[head].release <= now {
            released = stretches[head].end
            head = (head + 1) & (stretches.count - 1)
            count -= 1
        }
        if count > 0 { visit.wake(at: Moment(nanoseconds: stretches[head].release)) }
        return Reach(position: released, horizon: max(released, arrived), hasEnded: released == end)
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
            let multiple = arrived / Self.stretchLength * Self.stretchLength
            let delay = draws.delay(at: max(batchStart, multiple)).addingSaturated(spike)
            let end = min(position, multiple + Self.stretchLength)
            append(end: end, release: max(arrival.addingSaturated(delay), lastRelease))
        }
    }

    private mutating func append(end: Int64, release: Int64) {
        arrived = end
        lastRelease = release
        if count > 0, joinsLast(release) {
            let last = (head + count - 1) & (stretches.count - 1)
            stretches[last] = Stretch(end: end, release: release)
            return
        }
        jointRelease = release
        if count == stretches.count { grow() }
        stretches[(head + count) & (stretches.count - 1)] = Stretch(end: end, release: release)
        count += 1
    }

    private func joinsLast(_ release: Int64) -> Bool {
        let allowed = count < Self.stretchLimit / 2 ? 0 : tolerance
        return count == Self.stretchLimit || release.subtractingSaturated(jointRelease) <= allowed
    }

    private mutating func grow() {
        var larger: [Stretch] = []
        larger.reserveCapacity(max(8, stretches.count * 2))
        for index in 0..<count { larger.append(stretches[(head + index) & (stretches.count - 1)]) }
        let missing = max(8, stretches.count * 2) - larger.count
        larger.append(contentsOf: repeatElement(Stretch(end: 0, release: 0), count: missing))
        stretches = larger
        head = 0
    }
}

extension Latency: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.delay, .latency(Box(LatencyStage(self, key: place.key))))
    }
}
