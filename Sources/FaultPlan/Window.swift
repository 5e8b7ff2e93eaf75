import FaultProfile
import Units

/// When a fault is on: its phase, the ages of the connection and the times of the proxy's clock.
public struct Window: Hashable, Sendable {
    /// A cycle of on and off times.
    public struct Duty: Hashable, Sendable {
        /// When the first on time begins.
        public var begin: Moment
        /// The on time, in nanoseconds; above zero.
        public var on: Int64
        /// The length of a cycle, in nanoseconds; at least `on`.
        public var period: Int64

        func isOn(at now: Moment) -> Bool {
            let elapsed = now.nanoseconds.subtractingSaturated(begin.nanoseconds)
            return elapsed >= 0 && elapsed % period < on
        }

        /// The next change after `now`.
        func nextChange(after now: Moment) -> Moment {
            let elapsed = now.nanoseconds.subtractingSaturated(begin.nanoseconds)
            guard elapsed >= 0 else { return begin }
            let rest = elapsed % period
            return now.advanced(byNanoseconds: (rest < on ? on : period) - rest)
        }
    }

    /// The index of the phase; `nil` is always.
    public var phase: Int?
    /// The age at which the fault comes on, in nanoseconds.
    public var ageFrom: Int64
    /// The age at which it goes off, in nanoseconds; `Int64.max` is never.
    public var ageUntil: Int64
    /// When it comes on.
    public var from = Moment(nanoseconds: .min)
    /// When it goes off.
    public var until = Moment.distantFuture
    /// The duty cycle, if it has one.
    public var duty: Duty?

    static let always = Window(phase: nil, ageFrom: 0, ageUntil: .max)

    /// Whether the fault is on at all times.
    public var isAlways: Bool {
        phase == nil && ageFrom == 0 && ageUntil == .max && duty == nil && from.nanoseconds == .min
            && until == .distantFuture
    }

    /// Whether the fault is on at `now` and at an age, in nanoseconds, while `currentPhase` runs.
    public func contains(at now: Moment, age: Int64, currentPhase: Int?) -> Bool {
        if let phase, phase != currentPhase { return false }
        guard age >= ageFrom && age < ageUntil && now >= from && now < until else { return false }
        return duty?.isOn(at: now) ?? true
    }

    /// The first moment after `now` at which the answer of `contains` may change.
    ///
    /// - Parameter interval: the interval of the schedule that contains `now`.
    public func nextChange(after now: Moment, opened: Moment, interval: Schedule.Interval) -> Moment {
        let begin = ageFrom > 0 ? max(from, opened.advanced(byNanoseconds: ageFrom)) : from
        let end = ageUntil < .max ? min(until, opened.advanced(byNanoseconds: ageUntil)) : until
        guard now < end, begin < end else { return .distantFuture }
        if now < begin { return begin }
        let phaseEnd = phase == nil ? Moment.distantFuture : interval.end
        // In another phase the duty cycle makes no difference.
        if let phase, phase != interval.phase { return min(end, phaseEnd) }
        return min(end, phaseEnd, duty?.nextChange(after: now) ?? .distantFuture)
    }
}

extension Window {
    /// Makes the window of a condition, for a fault of the phase at index `phase` and a proxy whose clock starts at `start`.
    public init(_ condition: Condition, phase: Int?, start: Moment) {
        self.init(condition, phase: phase, clock: PhaseClock(start: start))
    }

    /// Makes the window of a condition, for a fault of the phase at index `phase` on a proxy's clock. While the clock stands
    /// still, the condition's times hold for ever or never.
    init(_ condition: Condition, phase: Int?, clock: PhaseClock) {
        let start = clock.start
        self.phase = phase
        ageFrom = condition.ageFrom.nanoseconds
        ageUntil = condition.ageUntil?.nanoseconds ?? .max
        if let clock = condition.clock {
            from = start + clock.from
            until = clock.until.map { start + $0 } ?? .distantFuture
        }
        if let cycle = condition.duty {
            let on = cycle.on.nanoseconds
            duty = Duty(begin: start + cycle.offset, on: on, period: on.addingSaturated(cycle.off.nanoseconds))
        }
        if let stopped = clock.stopped {
            let isOn = stopped >= from && stopped < until && duty?.isOn(at: stopped) ?? true
            (from, until, duty) = (isOn ? Moment(nanoseconds: .min) : .distantFuture, .distantFuture, nil)
        }
    }
}
