import FaultPlan
import FaultProfile
import Units

/// What a profile makes of the network over time, for a connection that no condition singles out.
public struct NetworkTimeline: Hashable, Sendable {
    /// A interval of time in which nothing changes.
    public struct Segment: Hashable, Sendable {
        /// When it begins, on the clock of the proxy.
        public var begin: Moment
        /// When it ends.
        public var end: Moment
        /// The index of the phase in the profile; `nil` outside all phases.
        public var phase: Int?
        /// What the network is like.
        public var conditions: NetworkConditions
    }

    /// The segments that are kept at most: 10,000. What comes after them is left out.
    public static let limit = 10_000

    /// The sets of faults whose conditions are kept for the next time that they are on: 1,024.
    private static let knownLimit = 1_024

    /// The segments from the start of the clock on, without a gap.
    public let segments: [Segment]
    /// Where the last one ends, if there were too many; what comes then isn't known.
    public let cutAt: Moment?

    /// The timeline of `profile` in one direction, from the origin of the clock until `end`, which is later. The seed
    /// is that of the draws by which phases are longer or shorter.
    public init(of profile: Profile, direction: Direction, until end: Moment, seed: UInt64 = 0) {
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: .zero, seed: seed)
        let faults = TimedFault.all(of: profile)
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
            let segment = Segment(begin: now, end: min(next, end), phase: interval.phase, conditions: conditions)
            segments.append(segment)
            now = next
        }
        self.segments = segments
        cutAt = now < end ? now : nil
    }

    /// The segment that `moment` lies in; after all of them the last one, or `nil` where others were left out.
    public func segment(at moment: Moment) -> Segment? {
        if let cutAt, moment >= cutAt { return nil }
        var low = 0
        var high = segments.count
        while low < high {
            let middle = (low + high) / 2
            if segments[middle].begin <= moment { low = middle + 1 } else { high = middle }
        }
        return low > 0 ? segments[low - 1] : segments.first
    }

    /// The highest rate of all segments; `nil` where one has no limit, or there is none.
    public var highestRate: BitRate? {
        segments.compactMap(\.conditions.rate).max()
    }
}

/// A fault of a profile, and when it is on for everybody.
private struct TimedFault {
    /// The fault; where the clock alone decides when it is on, without its condition.
    var fault: Fault
    /// When it is on, as far as the clock decides.
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
}

/// What the network is like while a set of faults is on, in one direction.
public struct NetworkConditions: Hashable, Sendable {
    /// The lowest of the rates; `nil` is no limit.
    public private(set) var rate: BitRate?
    /// The sum of the delays.
    public private(set) var delay = Duration.zero
    /// The sum of what delays vary by.
    public private(set) var jitter = Duration.zero
    /// The outage that is on, if any.
    public private(set) var outage: Outage.Mode?
    /// The faults that have no figure above, because they act at a position, on some connections only, or otherwise: a
    /// short line each.
    public private(set) var others: [String] = []

    /// The conditions that `faults` make together in `direction`.
    public init(faults: [Fault], direction: Direction) {
        for fault in faults where fault.stream.includes(direction) { add(fault) }
    }

    private mutating func add(_ fault: Fault) {
        let summary = fault.kind.figures
        guard fault.condition == Condition(), !summary.isAtPosition, summary.hasFigures else {
            others.append("\(summary.text)\(fault.condition == Condition() ? "" : ", \(fault.condition.sentence)")")
            return
        }
        if let other = summary.rate { rate = min(rate ?? other, other) }
        delay += summary.delay
        jitter += summary.jitter
        outage = outage ?? summary.outage
    }
}
