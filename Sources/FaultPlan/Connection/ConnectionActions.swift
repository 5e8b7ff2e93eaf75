import Units

/// The answer of `ConnectionState` to an event, carried out in the order of the members.
public struct ConnectionActions: Hashable, Sendable {
    /// An action on the socket of one end.
    public enum SocketAction: Hashable, Sendable {
        case none
        /// Ends the stream to the peer (FIN).
        case endStream
        /// Closes the socket; sent bytes are still delivered.
        case close
        /// Resets the connection to the peer (RST).
        case reset
    }

    /// The last action.
    public enum Next: Hashable, Sendable {
        /// None.
        case proceed
        /// The handshake is read.
        case negotiate
        /// The name of the target is looked up.
        case resolve
        /// The reply to the handshake is sent.
        case sendReply
        /// The failure to reach the target is reported, and sent to the client as the reply to its handshake.
        case refuse
        /// The server's address of this index is dialed.
        case dial(address: Int)
        /// The result of dialing is read.
        case finishDialing
        /// The links move what may move now.
        case run
        /// The links move what may move, in the next turn of the loop.
        case runSoon
        /// The connection waits until the listener refuses clients, then `ConnectionState.timerDue` is called.
        case awaitRefusal
        /// Delivers the remaining bytes of the other end, which is gone, to this one.
        case deliverRest(to: Peer)
        /// Closes the links and waits until the end has taken the sent bytes, see `Linger`. For `closure` the other end is
        /// drained as well, if its socket is open.
        case linger(Peer, Linger.Goal)
        /// Continues to linger.
        case keepLingering(Peer)
        /// Closes the links and keeps both sockets open.
        case blackhole
        /// The drain policy looks at both ends.
        case checkEnds
        /// The failure to reach the server is reported, then `ConnectionState.failureReported` is called.
        case fail
        /// `ConnectionState.firstByteCame` is called if the client has sent a byte, or is gone.
        case awaitFirstByte
        /// The connection is over.
        case finish
    }

    /// The event of the fault that caused the actions, for the journal.
    public var event: FaultEvent?
    /// The action on the server's socket.
    public var server = SocketAction.none
    /// The action on the client's socket.
    public var client = SocketAction.none
    /// The moment to set the timer to; `distantFuture` cancels it, `nil` leaves it.
    public var timer: Moment?
    /// The last action.
    public var next = Next.proceed

    init(
        event: FaultEvent? = nil,
        server: SocketAction = .none,
        client: SocketAction = .none,
        timer: Moment? = nil,
        _ next: Next = .proceed
    ) {
        self.event = event
        self.server = server
        self.client = client
        self.timer = timer
        self.next = next
    }

    init(_ peer: Peer, _ action: SocketAction, _ next: Next = .proceed) {
        self.init(server: peer == .server ? action : .none, client: peer == .client ? action : .none, next)
    }
}
