import Units

/// When a fault is on: in which phase, and at which age of the connection.
public struct Window: Hashable, Sendable {
    /// The phase it belongs to; `nil` is every time.
    public var phase: Int?
    /// The age of the connection from which it is on, in nanoseconds.
    public var ageFrom: Int64
    /// The age of the connection from which it is off again, in nanoseconds; `Int64.max` is never.
    public var ageUntil: Int64

    /// The window of a fault that is on in every phase and at every age.
    static let always = Window(phase: nil, ageFrom: 0, ageUntil: .max)

    /// Whether the fault is on in every phase and at every age.
    public var isAlways: Bool { phase == nil && ageFrom == 0 && ageUntil == .max }

    /// Whether the fault is on at an age, in nanoseconds, while `currentPhase` runs.
    public func contains(age: Int64, currentPhase: Int?) -> Bool {
        if let phase, phase != currentPhase { return false }
        return age >= ageFrom && age < ageUntil
    }

    /// The first moment after `now` at which the answer of `contains` may change.
    public func nextChange(after now: Moment, opened: Moment, stretchEnd: Moment) -> Moment {
        guard now < opened.advanced(byNanoseconds: ageUntil) else { return .distantFuture }
        var next = phase == nil ? Moment.distantFuture : stretchEnd
        for age in [ageFrom, ageUntil] where age > 0 && age < .max {
            let boundary = opened.advanced(byNanoseconds: age)
            if boundary > now { next = min(next, boundary) }
        }
        return next
    }
}
