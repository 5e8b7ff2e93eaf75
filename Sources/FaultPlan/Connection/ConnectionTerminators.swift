import FaultProfile
import Units

/// The faults that end one live connection as a whole: outages, and cuts by age or idleness.
public struct ConnectionTerminators: Sendable {
    /// The reason for the end of a connection.
    enum Cause: Sendable {
        /// An outage is on.
        case outage
        /// The connection reaches this age, in nanoseconds.
        case age(Int64, Cut.Ending)
        /// No byte has passed for this time, in nanoseconds.
        case idleness(Int64, Cut.Ending)
        /// The connection ends when it begins.
        case dial(Cut.Ending)
    }

    struct Source: Sendable {
        let fault: Int
        let window: Window
        let cause: Cause
    }

    let sources: [Source]
    let schedule: Schedule
    let opened: Moment

    /// Whether a fault may end the connection, now or later.
    public var arePossible: Bool { !sources.isEmpty }

    /// The shortest time without a byte that ends the connection, if one does.
    public var shortestIdleness: Duration? {
        sources.compactMap { if case .idleness(let limit, _) = $0.cause { Duration.nanoseconds(limit) } else { nil } }
            .min()
    }

    /// The event that ends the connection at `now`, and how it ends; `nil` if none does.
    ///
    /// - Parameter lastPassed: the time of the last byte in either direction, or of acceptance.
    public func event(at now: Moment, lastPassed: Moment) -> (event: FaultEvent, how: Cut.Ending)? {
        if sources.isEmpty { return nil }
        let phase = schedule.interval(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for source in sources where source.window.contains(at: now, age: age, currentPhase: phase) {
            switch source.cause {
            case .outage:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .dial(.reset):
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .dial(let how):
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .age(let limit, let how) where age >= limit:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .idleness(let limit, let how) where (now - lastPassed).nanoseconds >= limit:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .age, .idleness:
                break
            }
        }
        return nil
    }

    /// The time at which the answer of `event` may change; `distantFuture` if it can't.
    public func nextChange(after now: Moment, lastPassed: Moment) -> Moment {
        if sources.isEmpty { return .distantFuture }
        var next = Moment.distantFuture
        let interval = schedule.interval(at: now)
        for source in sources {
            let due =
                switch source.cause {
                case .outage, .dial: now
                case .age(let limit, _): opened.advanced(byNanoseconds: limit)
                case .idleness(let limit, _): lastPassed.advanced(byNanoseconds: limit)
                }
            // Until it is due, the fault's window doesn't matter.
            let change = due > now ? due : source.window.nextChange(after: now, opened: opened, interval: interval)
            next = min(next, change)
        }
        return next
    }
}
