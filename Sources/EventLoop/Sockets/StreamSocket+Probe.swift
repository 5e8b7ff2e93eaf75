/// What a socket knows, and asks, of its two ends.
extension StreamSocket {
    /// The address of this side; `nil` when the socket is closed.
    public var localAddress: SocketAddress? { isOpen ? loop.system.localAddress(of: descriptor) : nil }

    /// The address of the peer; `nil` when the socket is closed, or the connection over.
    public var peerAddress: SocketAddress? { isOpen ? .peer(of: descriptor) : nil }

    /// Sends at once what may wait for an end of the stream that doesn't come after all, see `sendScratch`.
    public func pushHeldBack() {
        loop.preconditionOnLoop()
        guard descriptor >= 0 else { return }
        // It is on already, and setting it sends what waits.
        loop.system.setNoDelay(descriptor)
    }

    /// Has the system ask a peer that has ended its stream whether it is still there, after `seconds` of silence and then
    /// as often, and break the connection when it answers by a reset, or not to `count` probes (SO_KEEPALIVE, tcp(7)). A
    /// receive goes on to tell the end, since the peer has sent one. Calling it twice is fine.
    public func probe(every seconds: Int, count: Int) {
        loop.preconditionOnLoop()
        guard isOpen, !isProbed else { return }
        isProbed = true
        loop.system.setKeepAlive(seconds: seconds, count: count, descriptor)
    }
}
