import FaultProfile
import Units

/// What happens to one connection: a link for each direction, and what ends both at once.
public struct ConnectionPlan: Sendable {
    /// The connection's number, counted from 1 in the order in which the proxy accepted them.
    public let ordinal: UInt64
    /// When it was accepted.
    public let opened: Moment
    /// Client to server.
    public var upstream: Link
    /// Server to client.
    public var downstream: Link
    /// The outages that reset the connection as a whole.
    public let interruptions: Interruptions
    /// The wait before the server is connected to, when packets of the handshake are lost.
    public let connectDelay: ConnectDelay?
}

/// The outages that reset one live connection, and when.
public struct Interruptions: Sendable {
    struct Outage: Sendable {
        let fault: Int
        let window: Window
    }

    let outages: [Outage]
    let schedule: Schedule
    let opened: Moment

    /// Whether an outage may reset the connection, now or at some later time.
    public var arePossible: Bool { !outages.isEmpty }

    /// The outage that resets the connection at `now`, if one is on.
    public func strike(at now: Moment) -> Strike? {
        let phase = schedule.stretch(at: now).phase
        let age = now.nanoseconds.subtractingSaturated(opened.nanoseconds)
        for outage in outages where outage.window.contains(age: age, currentPhase: phase) {
            return Strike(fault: outage.fault, offset: nil, effect: .resets)
        }
        return nil
    }

    /// When to ask `strike` again; `distantFuture` when the answer can't change.
    public func nextChange(after now: Moment) -> Moment {
        var next = Moment.distantFuture
        let end = schedule.stretch(at: now).end
        for outage in outages {
            next = min(next, outage.window.nextChange(after: now, opened: opened, stretchEnd: end))
        }
        return next
    }
}
