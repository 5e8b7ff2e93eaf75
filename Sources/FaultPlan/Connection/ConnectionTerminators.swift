import FaultProfile
import Units

/// What ends one live connection as a whole, and when: outages, its age, and idleness.
public struct ConnectionTerminators: Sendable {
    /// Why a connection ends.
    enum Cause: Sendable {
        /// The network is away.
        case outage
        /// The connection has this age, in nanoseconds.
        case age(Int64, Cut.Ending)
        /// No byte has passed for so many nanoseconds.
        case idleness(Int64, Cut.Ending)
        /// It ends where it begins.
        case beginning(Cut.Ending)
    }

    struct Source: Sendable {
        let fault: Int
        let window: Window
        let cause: Cause
    }

    let sources: [Source]
    let schedule: Schedule
    let opened: Moment

    /// Whether something may end the connection, now or at some later time.
    public var arePossible: Bool { !sources.isEmpty }

    /// The shortest time without a byte that ends the connection, if one does.
    public var shortestIdleness: Duration? {
        sources.compactMap { if case .idleness(let limit, _) = $0.cause { Duration.nanoseconds(limit) } else { nil } }
            .min()
    }

    /// What ends the connection at `now`, if something does, and how.
    ///
    /// - Parameter lastPassed: when the last byte passed, in either direction; before the first, when the
    ///   connection was accepted.
    public func event(at now: Moment, lastPassed: Moment) -> (event: FaultEvent, how: Cut.Ending)? {
        if sources.isEmpty { return nil }
        let phase = schedule.interval(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for source in sources where source.window.contains(at: now, age: age, currentPhase: phase) {
            switch source.cause {
            case .outage:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .beginning(.reset):
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .beginning(let how):
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

    /// When to ask `event` again; `distantFuture` when the answer can't change.
    public func nextChange(after now: Moment, lastPassed: Moment) -> Moment {
        if sources.isEmpty { return .distantFuture }
        var next = Moment.distantFuture
        let interval = schedule.interval(at: now)
        for source in sources {
            let due =
                switch source.cause {
                case .outage, .beginning: now
                case .age(let limit, _): opened.advanced(byNanoseconds: limit)
                case .idleness(let limit, _): lastPassed.advanced(byNanoseconds: limit)
                }
            // Before it is due it makes no difference whether the fault is on.
            let change = due > now ? due : source.window.nextChange(after: now, opened: opened, interval: interval)
            next = min(next, change)
        }
        return next
    }
}
