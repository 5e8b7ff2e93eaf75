import FaultPlan
import FaultProfile
import Units

/// The network conditions of a profile over time, for a connection without conditions of its own.
public struct NetworkTimeline: Sendable {
    /// A time interval without changes.
    public struct Segment: Hashable, Sendable {
        /// The start, on the clock of the proxy.
        public var begin: Moment
        /// The end.
        public var end: Moment
        /// The index of the phase in the profile; `nil` outside all phases.
        public var phase: Int?
        /// The network conditions.
        public var conditions: NetworkConditions
        /// The faults that limit the rate, as indexes of `limits`.
        fileprivate var limiting: [Int]
    }

    /// The most segments: 10,000; later ones are omitted.
    public static let limit = 10_000

    /// The most cached sets of faults: 1,024.
    private static let knownLimit = 1_024

    /// The segments from the start of the clock, without gaps.
    public let segments: [Segment]
    /// The end of the last segment, if there were too many.
    public let cutAt: Moment?
    /// The rate of each fault that limits all connections in the direction.
    private let limits: [RateLimit?]

    /// Makes the timeline of `profile` in one direction, from the start of the clock until `end`, which is later. `seed` is
    /// the seed of the phases' jitter.
    public init(of profile: Profile, direction: Direction, until end: Moment, seed: UInt64 = 0) {
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: seed)
        let faults = TimedFault.all(of: profile)
        let limits = faults.map { $0.limit(in: direction) }
        var known: [[Int]: NetworkConditions] = [:]
        var segments: [Segment] = []
        var now = Moment.zero
        while now < end, segments.count < NetworkTimeline.limit {
            let interval = schedule.interval(at: now)
            let on = faults.indices.filter { faults[$0].window.contains(at: now, age: 0, currentPhase: interval.phase) }
            let conditions = known[on] ?? NetworkConditions(faults: on.map { faults[$0].fault }, direction: direction)
            if known.count < NetworkTimeline.knownLimit { known[on] = conditions }
            let next = faults.reduce(interval.end) {
                min($0, $1.window.nextChange(after: now, opened: now, interval: interval))
            }
            let segment = Segment(
                begin: now,
                end: min(next, end),
                phase: interval.phase,
                conditions: conditions,
                limiting: on.filter { limits[$0] != nil }
            )
            segments.append(segment)
            now = next
        }
        self.segments = segments
        self.limits = limits
        cutAt = now < end ? now : nil
    }

    /// What passes between two moments at most.
    public enum Capacity: Hashable, Sendable {
        /// It isn't known, because the segments were too many.
        case unknown
        /// No rate is limited for at least a part of the time.
        case unlimited
        /// The mean rate, in bits per second; 0 during an outage.
        case limited(Double)
    }

    /// What passes between two moments, of which `end` is later, on a connection opened at `opened`.
    public func capacity(from begin: Moment, to end: Moment, opened: Moment) -> Capacity {
        guard !segments.isEmpty, cutAt.map({ begin < $0 }) ?? true else { return .unknown }
        var bits = 0.0
        for index in index(of: begin)..<segments.count {
            let segment = segments[index]
            let (first, last) = (max(begin, segment.begin), min(end, segment.end))
            guard first < last else { break }
            guard segment.conditions.outage == nil else { continue }
            let allowed = segment.limiting.compactMap { limits[$0] }.map { limit in
                let start = limit.isOnClock ? Moment.zero : opened
                return limit.bits(from: (first - start).nanoseconds, to: (last - start).nanoseconds)
            }
            guard let least = allowed.min() else { return .unlimited }
            bits += least
        }
        return .limited(bits / (Double((end - begin).nanoseconds) / 1e9))
    }

    /// The index of the segment that contains `moment`, or else of the nearest.
    private func index(of moment: Moment) -> Int {
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].begin <= moment { low = middle + 1 } else { high = middle }
        }
        return max(0, low - 1)
    }
}

/// A fault of a profile, and when it is on for all connections.
private struct TimedFault {
    /// The fault; without its condition if the clock alone decides.
    var fault: Fault
    /// When it is on by the clock.
    let window: Window

    /// The faults that are always on, then those of each phase.
    static func all(of profile: Profile) -> [TimedFault] {
        profile.faults.map { TimedFault($0, phase: nil) }
            + profile.phases.enumerated().flatMap { index, phase in phase.faults.map { TimedFault($0, phase: index) } }
    }

    private init(_ fault: Fault, phase: Int?) {
        self.fault = fault
        guard fault.condition.isOnClockAlone else {
            window = Window(Condition(), phase: phase, start: .zero)
            return
        }
        window = Window(fault.condition, phase: phase, start: .zero)
        self.fault.condition = Condition()
    }

    /// The rate to which it limits all connections in `direction`; `nil` if it doesn't.
    func limit(in direction: Direction) -> RateLimit? {
        guard fault.condition == Condition(), fault.stream.includes(direction), !fault.kind.figures.isAtPosition else {
            return nil
        }
        return RateLimit(fault.kind)
    }
}

/// The network conditions in one direction while a set of faults is on.
public struct NetworkConditions: Hashable, Sendable {
    /// The lowest steady rate; `nil` if there is none.
    public private(set) var rate: BitRate?
    /// The sum of the delays.
    public private(set) var delay = Duration.zero
    /// The sum of the jitters.
    public private(set) var jitter = Duration.zero
    /// The current outage, if any.
    public private(set) var outage: Outage.Mode?
    /// A short line for each fault without a figure above: one at a position, one on some connections only, or a rate that
    /// changes over time.
    public private(set) var others: [String] = []

    /// Makes the combined conditions of `faults` in `direction`.
    public init(faults: [Fault], direction: Direction) {
        for fault in faults where fault.stream.includes(direction) { add(fault) }
    }

    private mutating func add(_ fault: Fault) {
        let summary = fault.kind.figures
        guard fault.condition == Condition(), !summary.isAtPosition, summary.hasFigures else {
            others.append("\(summary.text)\(fault.condition == Condition() ? "" : ", \(fault.condition.sentence)")")
            return
        }
        if let other = summary.rate {
            if fault.kind.hasSteadyRate { rate = min(rate ?? other, other) } else { others.append(summary.text) }
        }
        delay += summary.delay
        jitter += summary.jitter
        outage = outage ?? summary.outage
    }
}

extension FaultKind {
    /// Whether a rate of the fault is the same at all times.
    fileprivate var hasSteadyRate: Bool {
        switch self {
        case .bandwidth(let bandwidth): bandwidth.variation == .steady
        case .trace: false
        default: true
        }
    }
}
