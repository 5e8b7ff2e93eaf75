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
        /// A silence is on, which holds ends by age and idleness.
        case silence
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
    public let arePossible: Bool

    init(sources: [Source], schedule: Schedule, opened: Moment) {
        self.sources = sources
        self.schedule = schedule
        self.opened = opened
        arePossible = sources.contains { if case .silence = $0.cause { false } else { true } }
    }

    /// The shortest time without a byte that ends the connection, if one does.
    public var shortestIdleness: Duration? {
        sources.compactMap { if case .idleness(let limit, _) = $0.cause { Duration.nanoseconds(limit) } else { nil } }
            .min()
    }

    /// The event that ends the connection at `now`, and how it ends; `nil` if none does.
    ///
    /// - Parameter lastPassed: the time of the last byte in either direction, or of acceptance.
    public func event(at now: Moment, lastPassed: Moment) -> (event: FaultEvent, how: Cut.Ending)? {
        guard arePossible else { return nil }
        let phase = schedule.interval(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        let isSilent = sources.contains { source in
            guard case .silence = source.cause else { return false }
            return source.window.contains(at: now, age: age, currentPhase: phase)
        }
        for source in sources where source.window.contains(at: now, age: age, currentPhase: phase) {
            switch source.cause {
            case .outage:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .dial(.reset):
                return (FaultEvent(fault: source.fault, offset: nil, effect: .resets), .reset)
            case .dial(let how):
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .age(let limit, let how) where age >= limit && !isSilent:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .idleness(let limit, let how) where (now - lastPassed).nanoseconds >= limit && !isSilent:
                return (FaultEvent(fault: source.fault, offset: nil, effect: .cuts(how)), how)
            case .age, .idleness, .silence:
                break
            }
        }
        return nil
    }

    /// The time at which the answer of `event` may change; `distantFuture` if it can't.
    public func nextChange(after now: Moment, lastPassed: Moment) -> Moment {
        guard arePossible else { return .distantFuture }
        var next = Moment.distantFuture
        let interval = schedule.interval(at: now)
        // Before the first of the times is over, a silence holds nothing.
        var firstTime = Moment.distantFuture
        for source in sources { firstTime = min(firstTime, time(of: source, lastPassed) ?? firstTime) }
        for source in sources {
            let due = if case .silence = source.cause { firstTime } else { time(of: source, lastPassed) ?? now }
            // Until it is due, the fault's window doesn't matter.
            let change = due > now ? due : source.window.nextChange(after: now, opened: opened, interval: interval)
            next = min(next, change)
        }
        return next
    }

    /// When the time of a source is over; `nil` if it has none.
    private func time(of source: Source, _ lastPassed: Moment) -> Moment? {
        switch source.cause {
        case .age(let limit, _): opened.advanced(byNanoseconds: limit)
        case .idleness(let limit, _): lastPassed.advanced(byNanoseconds: limit)
        case .outage, .dial, .silence: nil
        }
    }
}
