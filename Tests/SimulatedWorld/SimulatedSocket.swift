import Glibc
import Units

/// One end of a simulated connection, as the kernel of its side sees it (tcp(7)).
///
/// What one end sends is in flight until it is in the inbox of the other, and counts as unacknowledged until then. An end
/// of stream follows the last byte; a reset overtakes what is in flight, and leaves what the other has in its inbox.
final class SimulatedSocket {
    /// What is told of a socket when something has changed.
    struct Readiness: Equatable {
        var isReadable = false
        var isWritable = false
        var hasPeerEnded = false
        var hasFailed = false

        var isAny: Bool { isReadable || isWritable || hasPeerEnded || hasFailed }
    }

    enum State {
        case new
        case connecting
        case connected
        /// A reset has come, or the connection was never made.
        case dead
    }

    var state = State.new
    /// The other end; `nil` before there is one.
    var peer: SimulatedSocket?
    /// What the peer has sent and this end's process hasn't received.
    var inbox: ByteRing
    /// What this end has sent and isn't in the peer's inbox.
    var flight: ByteRing
    /// This end's process sends no more; the end follows what is in flight.
    var hasSentEnd = false
    /// The end has come to the peer.
    var hasEndArrived = false
    /// The peer's end of stream has come here.
    var hasPeerEnded = false
    /// The error that the next call is told (SO_ERROR).
    var error: Int32 = 0
    /// The process has closed it.
    var isClosed = false
    /// When it was.
    var closedAt = Moment.zero
    var closesByReset = false
    /// A send found no room, so room is told when there is some (SOCK_NOSPACE).
    var wantsRoom = false
    /// Whether bytes in flight are due to arrive.
    var isDeliveryDue = false
    /// The descriptor of the proxy that it is; −1 for an end of a peer of the proxy.
    var descriptor: Int32 = -1
    /// Told that something has changed, where it is the end of a peer.
    var actor: Peer?
    /// The ports of this end and of the other, for their addresses.
    var ports: (own: UInt16, other: UInt16) = (0, 0)

    init(sendBuffer: Int, receiveBuffer: Int) {
        flight = ByteRing(capacity: sendBuffer)
        inbox = ByteRing(capacity: receiveBuffer)
    }

    /// Whether a third of the send buffer is free, from which on a process is told of room.
    var hasNoticeableRoom: Bool { flight.room * 3 >= flight.capacity }

    /// What a poll would tell now.
    var readiness: Readiness {
        switch state {
        case .new, .connecting:
            return Readiness()
        case .connected:
            return Readiness(
                isReadable: !inbox.isEmpty || hasPeerEnded,
                isWritable: hasNoticeableRoom,
                hasPeerEnded: hasPeerEnded,
                hasFailed: false
            )
        case .dead:
            return Readiness(isReadable: true, isWritable: true, hasPeerEnded: true, hasFailed: error != 0)
        }
    }
}
