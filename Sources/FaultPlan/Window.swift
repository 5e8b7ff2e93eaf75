import FaultProfile
import Units

/// When a fault is on: in which phase, at which age of the connection, at which times of the proxy's clock.
public struct Window: Hashable, Sendable {
    /// On for a time and off for a time, again and again.
    public struct Duty: Hashable, Sendable {
        /// When it is on for the first time.
        public var begin: Moment
        /// How long it is on, in nanoseconds; above zero.
        public var on: Int64
        /// From one time that it comes on to the next, in nanoseconds; at least `on`.
        public var period: Int64

        /// Whether it is on at `now`.
        func isOn(at now: Moment) -> Bool {
            let elapsed = now.nanoseconds.subtractingSaturated(begin.nanoseconds)
            return elapsed >= 0 && elapsed % period < on
        }

        /// When it comes on or goes off next.
        func nextChange(after now: Moment) -> Moment {
            let elapsed = now.nanoseconds.subtractingSaturated(begin.nanoseconds)
            guard elapsed >= 0 else { return begin }
            let rest = elapsed % period
            return now.advanced(byNanoseconds: (rest < on ? on : period) - rest)
        }
    }

    /// The phase it belongs to; `nil` is every time.
    public var phase: Int?
    /// The age of the connection from which it is on, in nanoseconds.
    public var ageFrom: Int64
    /// The age of the connection from which it is off again, in nanoseconds; `Int64.max` is never.
    public var ageUntil: Int64
    /// The moment from which it is on.
    public var from = Moment(nanoseconds: .min)
    /// The moment from which it is off again.
    public var until = Moment.distantFuture
    /// When it is on and off in turn; `nil` is always on.
    public var duty: Duty?

    /// The window of a fault that is on at all times.
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
    /// - Parameter interval: the one that `now` lies in.
    public func nextChange(after now: Moment, opened: Moment, interval: Schedule.Interval) -> Moment {
        let begin = ageFrom > 0 ? max(from, opened.advanced(byNanoseconds: ageFrom)) : from
        let end = ageUntil < .max ? min(until, opened.advanced(byNanoseconds: ageUntil)) : until
        guard now < end, begin < end else { return .distantFuture }
        if now < begin { return begin }
        let phaseEnd = phase == nil ? Moment.distantFuture : interval.end
        // What the duty cycle does meanwhile is of no account where another phase runs.
        if let phase, phase != interval.phase { return min(end, phaseEnd) }
        return min(end, phaseEnd, duty?.nextChange(after: now) ?? .distantFuture)
    }
}

extension Window {
    /// The times of a condition, for a fault of the phase at an index and a proxy whose clock starts at `start`.
    public init(_ condition: Condition, phase: Int?, start: Moment) {
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
    }
}

extension Condition {
    /// Whether it holds for a client of an address; `nil` is not known, and is in no range.
    func admits(_ client: IPAddress?) -> Bool {
        guard !clients.isEmpty else { return true }
        guard let client else { return false }
        return clients.contains { $0.contains(client) }
    }
}
