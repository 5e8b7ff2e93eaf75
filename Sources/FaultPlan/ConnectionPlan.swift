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
    /// What ends the connection as a whole.
    public let terminators: ConnectionTerminators
    /// The receive buffer towards the source of each direction, for the whole life of the connection;
    /// none is left to the system.
    public let receiveWindow: [Direction: ByteCount]
    /// The wait before the server is connected to, when packets of the handshake are lost.
    public let connectDelay: ConnectDelay?
    /// What has to be read of the bytes.
    public let reading: StreamInterest
    /// For how long nobody accepts the connection.
    public let hang: Hang

    /// Whether no fault concerns the connection.
    public var isPlain: Bool {
        upstream.isTransparent && downstream.isTransparent && !terminators.arePossible && receiveWindow.isEmpty
            && connectDelay == nil && reading.isNone && hang.sources.isEmpty
    }
}

/// What the faults of a connection have to know of its bytes.
public struct StreamInterest: Sendable {
    /// Whether the links are to be told of HTTP messages (`Link.note`), in both directions.
    public var messages = false
    /// Whether messages are to have the targets of their requests.
    public var targets = false
    /// The names of the fields of their requests that messages are to have.
    public var fields: [String] = []
    /// The patterns to look for in each direction, each for the fault of an index.
    public var patterns: [Direction: [(fault: Int, pattern: BytePattern)]] = [:]

    /// Nothing.
    public init() {}

    /// Whether nobody has to look at the bytes.
    public var isNone: Bool { !messages && patterns.isEmpty }

    /// Adds what has to be known of requests to tell whether they are picked by `condition`.
    mutating func add(_ condition: HTTPCondition) {
        if condition.path != nil { targets = true }
        for field in condition.fields where !fields.contains(field.name) { fields.append(field.name) }
    }
}

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
