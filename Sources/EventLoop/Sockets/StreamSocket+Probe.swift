import CLibevent

/// What a socket knows, and asks, of its two ends.
extension StreamSocket {
    /// The address of this side; `nil` when the socket is closed.
    public var localAddress: SocketAddress? { isOpen ? loop.system.localAddress(of: descriptor) : nil }

    /// The address of the peer; `nil` when the socket is closed, or the connection over.
    public var peerAddress: SocketAddress? { isOpen ? loop.system.peerAddress(of: descriptor) : nil }

    /// The bytes that wait to be received; 0 also when only the end does, or an error.
    public func receivable() -> Int { Int(max(0, loop.system.receivable(descriptor))) }

    /// The bytes sent that the receiver's kernel has not acknowledged; 0 on a broken connection, and on a Unix-domain
    /// socket, where the receiver's kernel has what is sent at once.
    public func unacknowledged() -> Int {
        isUnix || isBroken() ? 0 : Int(max(0, loop.system.unacknowledged(descriptor)))
    }

    /// The congestion control in use.
    var congestionControl: String { CongestionControl.name(of: descriptor) }

    /// Sends at once what may wait for an end of the stream that doesn't come after all, see `sendScratch`.
    public func pushHeldBack() {
        loop.preconditionOnLoop()
        guard descriptor >= 0, !isUnix else { return }
        // It is on already, and setting it sends what waits.
        loop.system.setNoDelay(descriptor)
    }

    /// Has the system ask a peer that has ended its stream whether it is still there, after `seconds` of silence and then
    /// as often, and break the connection when it answers by a reset, or not to `count` probes (SO_KEEPALIVE, tcp(7)). A
    /// receive goes on to tell the end, since the peer has sent one. Calling it twice is fine. A Unix-domain socket isn't
    /// probed: `hasPeerClosed` tells.
    public func probe(every seconds: Int, count: Int) {
        loop.preconditionOnLoop()
        guard isOpen, !isProbed, !isUnix else { return }
        isProbed = true
        loop.system.setKeepAlive(seconds: seconds, count: count, descriptor)
    }
}
