import CLibevent

/// Properties of a socket's two ends.
extension StreamSocket {
    /// The address of this side; `nil` when the socket is closed.
    public var localAddress: SocketAddress? {
        if let layer { return layer.localAddress }
        return isOpen ? loop.system.localAddress(of: descriptor) : nil
    }

    /// The address of the peer; `nil` when the socket is closed, or the connection over.
    public var peerAddress: SocketAddress? {
        if let layer { return layer.peerAddress }
        return isOpen ? loop.system.peerAddress(of: descriptor) : nil
    }

    /// The bytes that wait to be received; 0 if only an end or an error waits.
    public func receivable() -> Int {
        layer.map { $0.receivable() } ?? Int(max(0, loop.system.receivable(descriptor)))
    }

    /// The bytes sent that the receiver's kernel has not acknowledged; 0 on a broken connection, and on a Unix-domain
    /// socket, where the receiver's kernel has what is sent at once.
    public func unacknowledged() -> Int {
        if let layer { return layer.unacknowledged() }
        return isUnix || isBroken() ? 0 : Int(max(0, loop.system.unacknowledged(descriptor)))
    }

    /// Flushes bytes held back for an end of the stream, see `sendScratch`.
    public func pushHeldBack() {
        loop.preconditionOnLoop()
        guard descriptor >= 0, !isUnix else { return }
        // Setting TCP_NODELAY again flushes.
        loop.system.setNoDelay(descriptor)
    }

    /// Probes a peer that has ended its stream every `seconds` of silence, and breaks the connection if it answers with a
    /// reset or misses `count` probes (SO_KEEPALIVE, tcp(7)). A receive still reports the end. Calling it twice is fine. For
    /// a Unix-domain socket use `hasPeerClosed`.
    public func probe(every seconds: Int, count: Int) {
        loop.preconditionOnLoop()
        guard isOpen, !hasKeepAlive, !isUnix else { return }
        hasKeepAlive = true
        if let layer { return layer.probe(every: seconds, count: count) }
        loop.system.setKeepAlive(seconds: seconds, count: count, descriptor)
    }
}
