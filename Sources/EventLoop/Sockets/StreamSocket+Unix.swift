import CLibevent
import Glibc

/// What differs on a Unix-domain stream socket, unix(7).
///
/// Sent bytes are with the receiver's kernel at once and stay readable after this side has closed, so no wait is needed
/// before a reset. There is no RST: the peer gets ECONNRESET after the last byte if a socket is closed with unread bytes,
/// else the end of the stream; a send fails with EPIPE in both cases.
extension StreamSocket {
    /// A measure of what the peer hasn't taken: bytes on TCP, the kernel's memory on a Unix-domain socket; 0 if all is taken.
    public func queuedAtPeer() -> Int {
        guard isUnix else { return unacknowledged() }
        return isBroken() ? 0 : Int(max(0, loop.system.unacknowledged(descriptor)))
    }

    /// Whether the peer of a Unix-domain socket has closed it, or neither side can send any more; `false` on TCP. A layer
    /// may know it as well.
    public var hasPeerClosed: Bool {
        if let layer { return layer.hasPeerClosed }
        guard isUnix, isOpen, hasPeerEnded else { return false }
        var entry = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0
    }
}
