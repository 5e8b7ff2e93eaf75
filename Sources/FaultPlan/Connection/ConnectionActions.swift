import Units

/// The answer of `ConnectionState` to an event, carried out in the order of the members.
public struct ConnectionActions: Hashable, Sendable {
    /// An action on the socket of one end.
    public enum SocketAction: Hashable, Sendable {
        case none
        /// The stream to the peer ends (FIN).
        case endStream
        /// The socket is closed; what was sent is still delivered.
        case close
        /// The connection to the peer is reset (RST).
        case reset
    }

    /// The last action.
    public enum Next: Hashable, Sendable {
        /// None.
        case proceed
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
        /// The rest of the other end, which is gone, is delivered to this one.
        case deliverRest(to: Peer)
        /// The links are closed, and the end is given the time to take what was sent to it.
        case linger(Peer, Linger.Goal)
        /// The same goes on.
        case keepLingering(Peer)
        /// The links are closed, and both sockets stay open.
        case blackhole
        /// The drain policy looks at both ends.
        case checkEnds
        /// The failure to reach the server is reported; the connection is over.
        case fail
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

    /// Actions on the socket of one end.
    init(_ peer: Peer, _ action: SocketAction, _ next: Next = .proceed) {
        self.init(server: peer == .server ? action : .none, client: peer == .client ? action : .none, next)
    }

    /// Adds an action on the socket of an end.
    func adding(_ peer: Peer, _ action: SocketAction) -> ConnectionActions {
        var actions = self
        switch peer {
        case .client: actions.client = action
        case .server: actions.server = action
        }
        return actions
    }
}
