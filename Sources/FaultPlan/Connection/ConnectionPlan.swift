import FaultProfile
import Units

/// The faults of one connection: a link for each direction, and what concerns both.
public struct ConnectionPlan: Sendable {
    /// The connection's number, counted from 1 in the order in which the proxy accepted them, or in which clients have named
    /// their targets; 0 while the target isn't known.
    public let ordinal: UInt64
    /// The number of the connection among those to its target, from 1; `nil` without a target.
    public internal(set) var numberAtTarget: UInt64?
    /// The moment of its acceptance.
    public let opened: Moment
    /// Client to server.
    public var upstream: Link
    /// Server to client.
    public var downstream: Link
    /// The faults that concern the connection as a whole.
    public let faults: ConnectionFaults
    /// The receive buffer towards the source of each direction, for the whole life of the connection; the system's default
    /// if there is none.
    public let receiveWindow: [Direction: ByteCount]
    /// The positions in the bytes that faults ask for.
    public let reading: StreamInterest
    /// The plan of the content of TLS, where this is that of the wire; `nil` without layers.
    public internal(set) var content: ContentPlan?
}

/// The faults that concern one connection as a whole: those of its beginning and of its end. Immutable.
public final class ConnectionFaults: Sendable {
    /// Those of a connection that no such fault concerns.
    public static let none = ConnectionFaults(
        terminators: ConnectionTerminators(sources: [], schedule: Schedule.none, opened: .zero),
        hold: nil
    )

    /// The faults that end the connection.
    public let terminators: ConnectionTerminators
    /// The wait before the server is dialed, as it begins; `nil` if there is none.
    public let hold: DialHold?

    /// The faults of its TLS.
    public let handshake: HandshakeFaults

    init(terminators: ConnectionTerminators, hold: DialHold?, handshake: HandshakeFaults = HandshakeFaults()) {
        self.terminators = terminators
        self.hold = hold
        self.handshake = handshake
    }
}
