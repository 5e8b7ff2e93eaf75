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

    /// Starts HTTP/2 (RFC 9113) on a connection that negotiated it, and opens a stream. Called on the connection's loop as
    /// soon as the handshake is complete.
    ///
    /// - Parameter initialize: adds handlers to the stream, after one that converts to `HTTPRequestPart` and
    ///   `HTTPResponsePart`.
    /// - Returns: the stream. The connection closes with it.
    func openStream(
        on connection: any Channel,
        _ initialize: @escaping @Sendable (any Channel) throws -> Void
    ) -> EventLoopFuture<any Channel>
}
