import CLibevent
import Glibc

/// What differs on a Unix-domain stream socket, unix(7).
///
/// There are no packets: what is sent is with the receiver's kernel at once and stays readable after this side has closed,
/// whatever comes. So nothing has to be waited for before a reset. There is no RST either. The system tells the peer of
/// ECONNRESET, behind the last byte, when a socket is closed that had bytes of the peer unread, and of the end of the
/// stream when it hadn't; a send fails with EPIPE in both cases.
extension StreamSocket {
    /// A measure of what was sent and not taken by the peer, for telling whether it takes something: bytes on TCP, the
    /// kernel's memory for them on a Unix-domain socket. 0 when the peer has taken all.
    public func queuedAtPeer() -> Int {
        guard isUnix else { return unacknowledged() }
        return isBroken() ? 0 : Int(max(0, loop.system.unacknowledged(descriptor)))
    }

    /// Whether the peer of a Unix-domain socket has closed it, or neither side can send any more; `false` on TCP, where an
    /// end of stream doesn't tell.
    public var hasPeerClosed: Bool {
        guard isUnix, isOpen, hasPeerEnded else { return false }
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0
    }
}
