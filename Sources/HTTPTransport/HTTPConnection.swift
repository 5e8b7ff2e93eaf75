import HTTPTypes
import NIOCore

/// A connection for a request, or a stream on it.
public struct HTTPConnection: Sendable {
    /// The channel of the request, which takes `HTTPRequestPart` and `HTTPResponsePart`.
    public let channel: any Channel
    /// The negotiated protocol.
    public let negotiated: HTTPProtocol
    /// The forwarding proxy; `nil` when the connection leads to the server itself, directly or through a tunnel.
    var forwardingProxy: HTTPProxy?
    /// The client side of TLS, with HTTP/2.
    var tls: (any ClientTLS)?

    /// The channel of the underlying connection.
    public var socket: any Channel { channel.parent ?? channel }

    /// Adapts a request to this connection.
    ///
    /// HTTP/1.1 gets `Connection: close` if no other request follows; HTTP/2 has no such field. A forwarding proxy
    /// gets the absolute URL (RFC 9112, section 3.2.2) and its credentials.
    public func prepared(_ request: HTTPRequest, isLast: Bool) -> HTTPRequest {
        var request = request
        request.headerFields[.connection] = negotiated == .http1 && isLast ? "close" : nil
        if let forwardingProxy {
            request.path = "\(request.scheme ?? "http")://\(request.authority ?? "")\(request.path ?? "/")"
            request.headerFields[.proxyAuthorization] = forwardingProxy.authorization
        }
        return request
    }

    /// Prepares a kept connection for another request, on its loop: a stream of HTTP/2, or the same channel.
    public func reopened(
        _ makeHandlers: @escaping @Sendable () -> [any ChannelHandler]
    ) throws -> EventLoopFuture<HTTPConnection> {
        guard let tls else {
            try channel.pipeline.syncOperations.addHandlers(makeHandlers())
            return channel.eventLoop.makeSucceededFuture(self)
        }
        return tls.openStream(on: socket, isLast: false) { stream in
            try stream.pipeline.syncOperations.addHandlers(makeHandlers())
        }
        .map { HTTPConnection(channel: $0, negotiated: .http2, tls: tls) }
    }
}
