import OperatingSystem

/// Carries the bytes of a `StreamSocket` in place of the system: over another socket, or in memory.
///
/// A socket calls its layer in place of the system, with the same arguments and results. When the layer can be read or
/// written, it calls `StreamSocket.layerChanged`. It belongs to one loop.
open class SocketLayer: LoopHandler {
    /// The loop that it belongs to.
    public let loop: EventLoop
    /// The socket whose bytes it carries; `nil` once that is closed.
    public final var socket: StreamSocket? { carried }
    final unowned(unsafe) var carried: StreamSocket?

    /// Makes a layer; for subclasses.
    public init(on loop: EventLoop) {
        loop.preconditionOnLoop()
        self.loop = loop
    }

    private func isMissing(_ name: String = #function) -> Never {
        preconditionFailure("a layer of a socket implements \(name)")
    }

    /// The socket is watched from now on: readiness so far is to be told.
    open func watched() { isMissing() }
    /// Receives up to `limit` bytes into the loop's scratch buffer at `offset`.
    open func receive(limit: Int, behind offset: Int) -> ReceiveResult { isMissing() }
    /// Sends bytes. They may lie in the scratch buffer, which is not changed.
    open func send(_ bytes: RawSpan) -> SendResult { isMissing() }
    /// Ends this side's stream after what was sent.
    open func shutdownWrite() { isMissing() }
    /// Closes the layer, which still delivers the sent bytes. No call follows.
    open func close() { isMissing() }
    /// Closes with a reset. The last call.
    open func reset() { isMissing() }
    /// The bytes that wait to be received; 0 if only an end or an error waits.
    open func receivable() -> Int { isMissing() }
    /// The bytes sent that the peer hasn't acknowledged.
    open func unacknowledged() -> Int { isMissing() }
    /// Why connecting failed; `nil` if it succeeded.
    open func connectionError() -> SystemError? { nil }
    /// The error that broke the connection, if one has.
    open func failure() -> SystemError? { nil }
    /// Whether the peer has closed its socket.
    open var hasPeerClosed: Bool { false }
    /// Limits the receive buffer, in bytes.
    open func setReceiveBuffer(_ bytes: Int) {}
    /// Probes the peer, see `StreamSocket.probe`.
    open func probe(every seconds: Int, count: Int) {}
    /// The address of this side.
    open var localAddress: SocketAddress? { nil }
    /// The address of the peer.
    open var peerAddress: SocketAddress? { nil }
}
