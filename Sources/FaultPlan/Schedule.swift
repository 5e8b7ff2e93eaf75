import FaultProfile
import Units

/// The phases of a profile laid on the clock of a proxy. A pure function from time to phase.
public struct Schedule: Hashable, Sendable {
    /// A stretch of time in one phase, or after all of them.
    public struct Stretch: Hashable, Sendable {
        /// The index of the phase in the profile; `nil` outside all phases.
        public var phase: Int?
        /// When the stretch began, on the clock that `start` is on.
        public var begin: Moment
        /// When the next stretch begins.
        public var end: Moment
    }

    /// The moment at which the first phase begins.
    public let start: Moment
    /// Where each phase ends, in nanoseconds after `start`; the last may be `Int64.max`.
    private let ends: [Int64]
    private let repeats: Bool

    /// Lays `phases` end to end from `start`; with `repeats` they begin again after the last, unless
    /// the last has no duration and so never ends.
    public init(phases: [Phase], repeats: Bool, start: Moment) {
        var ends: [Int64] = []
        var total: Int64 = 0
        for phase in phases {
            total = total.addingSaturated(phase.duration?.nanoseconds ?? .max)
            ends.append(total)
        }
        self.ends = ends
        self.start = start
        self.repeats = repeats && total > 0 && total < .max
    }

    /// The stretch that `moment` lies in. Before `start` counts as the first phase.
    public func stretch(at moment: Moment) -> Stretch {
        guard let total = ends.last else { return Stretch(phase: nil, begin: start, end: .distantFuture) }
        var origin = start
        var elapsed = max(0, moment.nanoseconds.subtractingSaturated(start.nanoseconds))
        if elapsed >= total, total < .max {
            guard repeats else {
                return Stretch(phase: nil, begin: start.advanced(byNanoseconds: total), end: .distantFuture)
            }
            let cycles = elapsed / total
            origin = start.advanced(byNanoseconds: cycles * total)
            elapsed -= cycles * total
        }
        let index = ends.firstIndex { elapsed < $0 } ?? ends.count - 1
        let begin = index == 0 ? 0 : ends[index - 1]
        return Stretch(
            phase: index,
            begin: origin.advanced(byNanoseconds: begin),
            end: origin.advanced(byNanoseconds: ends[index])
        )
    }
}
