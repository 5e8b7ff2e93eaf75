import FaultProfile
import Units

/// The phases of a profile on the clock of a proxy: a pure function from time to phase.
///
/// Jitter is drawn for pairs of rounds: what the first round gains, the second loses. So two rounds take twice the
/// nominal time, and any moment is found without counting from the start.
public struct Schedule: Hashable, Sendable {
    /// A time interval in one phase, or outside all phases.
    public struct Interval: Hashable, Sendable {
        /// The index of the phase in the profile; `nil` outside all phases.
        public var phase: Int?
        /// When the interval begins.
        public var begin: Moment
        /// When the next interval begins.
        public var end: Moment
    }

    /// The jitter of a phase.
    private struct Jitter: Hashable {
        /// The largest deviation in either direction, in nanoseconds.
        let most: Int64
        let key: RandomKey

        /// The extra length of the phase in the first round of a pair.
        func draw(_ pair: Int64) -> Int64 {
            guard most > 0 else { return 0 }
            let span = 2 * UInt64(most) + 1
            return Int64(bitPattern: key.bits(at: pair).multipliedFullWidth(by: span).high &- UInt64(most))
        }
    }

    /// The clock on which the phases run.
    public let clock: PhaseClock
    /// The end of each phase, in nanoseconds after `start`; the last may be `Int64.max`.
    private let ends: [Int64]
    private let repeats: Bool
    /// The jitter of each phase; empty if none has any.
    private let jitters: [Jitter]

    /// The schedule without phases.
    static let none = Schedule(phases: [], repeats: false, start: .zero, seed: 0)

    /// Lays `phases` end to end from `start`. With `repeats` they begin again after the last, unless that has no
    /// duration. Jitter is drawn from `seed` and the name of the phase.
    public init(phases: [Phase], repeats: Bool, start: Moment, seed: UInt64) {
        self.init(phases: phases, repeats: repeats, clock: PhaseClock(start: start), seed: seed)
    }

    /// Lays `phases` end to end from the start of `clock`. While the clock stands still, one interval never ends.
    init(phases: [Phase], repeats: Bool, clock: PhaseClock, seed: UInt64) {
        var ends: [Int64] = []
        var total: Int64 = 0
        for phase in phases {
            total = total.addingSaturated(phase.duration?.nanoseconds ?? .max)
            ends.append(total)
        }
        self.ends = ends
        self.clock = clock
        self.repeats = repeats && total > 0 && total < .max
        let isSteady = phases.allSatisfy { $0.jitter == .zero }
        let key = RandomKey(seed: seed).adding("phase")
        jitters = isSteady ? [] : phases.map { Jitter(most: $0.jitter.nanoseconds, key: key.adding($0.name)) }
    }

    /// The moment at which the first phase begins, by the clock as it is set.
    public var start: Moment { clock.start }

    /// The time on the clock at which the phase at `index` begins for the first time; `nil` if it is never reached.
    public func begin(ofPhase index: Int) -> Duration? {
        var begin: Int64 = 0
        for place in 0..<index {
            guard ends[place] < .max else { return nil }
            let nominal = ends[place] - (place == 0 ? 0 : ends[place - 1])
            begin = begin.addingSaturated(nominal).addingSaturated(jitters.isEmpty ? 0 : jitters[place].draw(0))
        }
        return .nanoseconds(begin)
    }

    /// The interval that contains `moment`. Before `start` no phase runs.
    public func interval(at moment: Moment) -> Interval {
        var interval = runningInterval(at: clock.moment(at: moment))
        if clock.isPaused { interval.end = .distantFuture }
        return interval
    }

    private func runningInterval(at moment: Moment) -> Interval {
        guard let total = ends.last else { return Interval(phase: nil, begin: start, end: .distantFuture) }
        guard moment >= start else { return Interval(phase: nil, begin: Moment(nanoseconds: .min), end: start) }
        let elapsed = moment.nanoseconds.subtractingSaturated(start.nanoseconds)
        guard jitters.isEmpty else { return jitteredInterval(elapsed) }
        guard elapsed >= total, total < .max else { return nominalInterval(elapsed, origin: start) }
        guard repeats else {
            return Interval(phase: nil, begin: start.advanced(byNanoseconds: total), end: .distantFuture)
        }
        let (rounds, rest) = elapsed.quotientAndRemainder(dividingBy: total)
        return nominalInterval(rest, origin: start.advanced(byNanoseconds: rounds * total))
    }

    /// The interval at a time within a round that begins at `origin`.
    private func nominalInterval(_ elapsed: Int64, origin: Moment) -> Interval {
        var (index, high) = (0, ends.count - 1)
        while index < high {
            let middle = (index + high) / 2
            if ends[middle] <= elapsed { index = middle + 1 } else { high = middle }
        }
        let begin = index == 0 ? 0 : ends[index - 1]
        return interval(index, from: begin, to: ends[index], origin: origin)
    }

    private func jitteredInterval(_ elapsed: Int64) -> Interval {
        let total = ends[ends.count - 1]
        let pairLength = repeats ? total.addingSaturated(total) : .max
        let (pair, rest) = pairLength < .max ? elapsed.quotientAndRemainder(dividingBy: pairLength) : (0, elapsed)
        let origin = start.advanced(byNanoseconds: pair * pairLength)
        var end: Int64 = 0
        for round in 0..<(repeats ? 2 : 1) {
            for index in ends.indices {
                let nominal = ends[index] - (index == 0 ? 0 : ends[index - 1])
                let more = jitters[index].draw(pair)
                let begin = end
                let length = nominal.addingSaturated(round == 0 ? more : -more)
                end = ends[index] == .max ? .max : end.addingSaturated(length)
                if rest < end || end == .max { return interval(index, from: begin, to: end, origin: origin) }
            }
        }
        return Interval(phase: nil, begin: origin.advanced(byNanoseconds: end), end: .distantFuture)
    }

    private func interval(_ index: Int, from begin: Int64, to end: Int64, origin: Moment) -> Interval {
        Interval(phase: index, begin: origin.advanced(byNanoseconds: begin), end: origin.advanced(byNanoseconds: end))
    }
}
