import NIOCore

/// The server side of TLS with its certificate, for any number of connections.
public protocol ServerTLS: Sendable {
    /// Adds TLS to the pipeline of a fresh connection. Called on the channel's loop, before its other handlers are added.
    ///
    /// - Returns: the negotiated protocol, on the loop and before anything else has arrived. The connection is closed when
    ///   the handshake fails.
    func start(on channel: any Channel) throws -> EventLoopFuture<HTTPProtocol>

    /// Starts HTTP/2 (RFC 9113) on a connection that negotiated it. Called on its loop as soon as the handshake is complete. A
    /// `ChannelShouldQuiesceEvent` lets open streams finish and then closes the connection.
    ///
    /// - Parameter initialize: adds handlers to each stream, after one that converts to `HTTPRequestPart` and
    ///   `HTTPResponsePart`. Closing the output of a stream before its request has ended resets it with NO_ERROR, so the
    ///   client keeps the response and stops sending (RFC 9113, section 8.1).
    func startHTTP2(
        on connection: any Channel,
        _ limits: HTTP2Limits,
        _ initialize: @escaping @Sendable (any Channel) throws -> Void
    ) throws
}

/// The limits of an HTTP/2 connection at the server.
public struct HTTP2Limits: Sendable {
    /// The maximum number of concurrent requests.
    public var streams: Int
    /// The maximum size of a request's header section, in bytes.
    public var headBytes: Int
    /// The flow-control window of a request's content, in bytes.
    public var window: Int
    /// How long a connection may have no request.
    public var idleTimeout: TimeAmount

    /// Makes the limits.
    public init(streams: Int, headBytes: Int, window: Int, idleTimeout: TimeAmount) {
        self.streams = streams
        self.headBytes = headBytes
        self.window = window
        self.idleTimeout = idleTimeout
    }
}
