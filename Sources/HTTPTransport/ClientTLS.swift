import NIOCore

/// The client side of TLS, which a module provides that links a TLS library.
public protocol ClientTLS: Sendable {
    /// Loads the trusted authorities if they aren't loaded yet.
    func prepare() throws(TLSSettingsProblem)

    /// Adds TLS in front of all handlers of a connection to `host`, a name or an address without brackets. Called on the
    /// channel's loop, when it is connected and nothing has been read.
    ///
    /// - Parameter offersHTTP2: Whether HTTP/2 is offered if the settings allow it.
    /// - Returns: the negotiated protocol once the server is verified, on the loop and before anything else has arrived; or
    ///   an error that `TLSFailure` reads, or one of the system.
    func start(
        on channel: any Channel,
        to host: String,
        offersHTTP2: Bool
    ) throws -> EventLoopFuture<HTTPProtocol>

    /// Opens a stream on a connection that negotiated HTTP/2 (RFC 9113), on its loop: the first as soon as the handshake is
    /// complete, others once the one before has closed.
    ///
    /// - Parameters:
    ///   - isLast: Whether the connection closes with the stream.
    ///   - initialize: adds handlers to the stream, after one that converts to `HTTPRequestPart` and `HTTPResponsePart`.
    /// - Returns: the stream.
    func openStream(
        on connection: any Channel,
        isLast: Bool,
        _ initialize: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel>
}
