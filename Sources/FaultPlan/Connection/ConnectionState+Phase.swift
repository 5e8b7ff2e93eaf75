import FaultProfile
import Units

extension ConnectionState {
    /// The phase of a connection.
    public enum Phase: Hashable, Sendable {
        case accepted
        /// The handshake in which the client names its target is read, until the moment at most; not before the other one,
        /// while its answer waits.
        case negotiating(until: Moment, pausedUntil: Moment = .zero)
        /// The name of the target is looked up, until the moment at most.
        case resolving(until: Moment)
        /// Faults hold up dialing, see `DialHold`: accepted by the kernel alone, and not read.
        case held
        /// A resource was short; dialing is retried at the moment.
        case retrying(at: Moment)
        /// The server's address of this index is being dialed.
        case connecting(address: Int)
        /// The client is sent the end of the handshake, until the moment at most.
        case replying(HandshakeReply, until: Moment)
        /// The server can't be reached, or a fault refuses the client; it is reset with its first byte, at the moment at the latest.
        case unreached(until: Moment)
        /// Bytes are forwarded.
        case flowing
        /// A fault cuts the stream to the end once the listener refuses clients, after a moment at the latest.
        case cutPending(Peer, Cut.Ending)
        /// The end takes the rest; the other one is gone, or is drained as well.
        case lingering(Peer)
        /// Nothing passes any more, and neither end learns of it.
        case blackholed
        case closed
    }

    /// The end of a handshake.
    public enum HandshakeReply: Hashable, Sendable, CaseIterable {
        /// The target is connected; bytes are forwarded after the reply.
        case connected
        /// The connection ends after the reply.
        case refused
    }

    /// The reason why the server can't be reached.
    public enum DialFailure: Hashable, Sendable, CaseIterable {
        /// The process or the system has no descriptor left.
        case outOfDescriptors
        /// The accept queue of a Unix-domain socket is full; a TCP handshake would wait.
        case queueIsFull
        /// The server refused, or its address can't be reached.
        case refused
        /// Nothing answered in time.
        case timedOut
    }

    /// The state of one link as the machine sees it.
    public enum LinkState: Hashable, Sendable, CaseIterable {
        case open
        /// Every byte and the end of the stream were handed over.
        case finished
        /// The sink's connection is broken.
        case sinkBroken
    }
}
