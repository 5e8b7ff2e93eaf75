import FaultProfile
import Units

/// The faults of one connection: a link for each direction, and what concerns both.
public struct ConnectionPlan: Sendable {
    /// The connection's number, counted from 1 in the order in which the proxy accepted them, or in which clients have named
    /// their targets; 0 while the target isn't known.
    public let ordinal: UInt64
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
}

/// The faults that concern one connection as a whole: those of its beginning and of its end. Immutable.
public final class ConnectionFaults: Sendable {
    /// Those of a connection that no such fault concerns.
    public static let none = ConnectionFaults(
        terminators: ConnectionTerminators(sources: [], schedule: Schedule.none, opened: .zero),
        connectDelay: nil,
        hang: ConnectionHang(sources: [], schedule: Schedule.none, opened: .zero)
    )

    /// The faults that end the connection.
    public let terminators: ConnectionTerminators
    /// The wait before the server is dialed.
    public let connectDelay: ConnectDelay?
    /// The faults that leave the connection to the kernel: neither read nor forwarded.
    public let hang: ConnectionHang

    init(terminators: ConnectionTerminators, connectDelay: ConnectDelay?, hang: ConnectionHang) {
        self.terminators = terminators
        self.connectDelay = connectDelay
        self.hang = hang
    }

    /// The faults of these that go on in another generation of the plan, and those that begin with it.
    func updated(by update: ConnectionUpdate) -> ConnectionFaults {
        ConnectionFaults(
            terminators: update.terminators(after: terminators),
            connectDelay: update.connectDelay(after: connectDelay),
            hang: update.hang(after: hang)
        )
    }
}
