import FaultProfile
import Units

/// What happens to one connection: a link for each direction, and what ends both at once.
public struct ConnectionPlan {
    /// An outage that resets live connections, and when it is on.
    struct Interruption {
        let fault: Int
        let window: Window
    }

    /// The connection's number, counted from 1 in the order in which the proxy accepted them.
    public let ordinal: UInt64
    /// When it was accepted.
    public let opened: Moment
    /// Client to server.
    public var upstream: Link
    /// Server to client.
    public var downstream: Link

    let schedule: Schedule
    let interruptions: [Interruption]

    /// Whether an outage may reset this connection, now or at some later time.
    public var canBeInterrupted: Bool { !interruptions.isEmpty }

    /// The outage that resets the connection at `now`, if one is on.
    public func interruption(at now: Moment) -> Strike? {
        let phase = schedule.stretch(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for interruption in interruptions where interruption.window.contains(age: age, currentPhase: phase) {
            return Strike(fault: interruption.fault, offset: nil, effect: .resets)
        }
        return nil
    }

    /// When to ask `interruption` again; `distantFuture` when the answer can't change.
    public func nextInterruptionChange(after now: Moment) -> Moment {
        var next = Moment.distantFuture
        let end = schedule.stretch(at: now).end
        for interruption in interruptions {
            next = min(next, interruption.window.nextChange(after: now, opened: opened, stretchEnd: end))
        }
        return next
    }
}
