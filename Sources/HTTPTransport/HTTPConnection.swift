import HTTPTypes
import NIOCore

/// A connection for a single request, or a stream on it.
public struct HTTPConnection: Sendable {
    /// The channel of the request, which takes `HTTPRequestPart` and `HTTPResponsePart`.
    public let channel: any Channel
    /// The negotiated protocol.
    public let negotiated: HTTPProtocol
    /// The forwarding proxy; `nil` when the connection leads to the server itself, directly or through a tunnel.
    let forwardingProxy: HTTPProxy?

    init(channel: any Channel, negotiated: HTTPProtocol, forwardingProxy: HTTPProxy? = nil) {
        self.channel = channel
        self.negotiated = negotiated
        self.forwardingProxy = forwardingProxy
    }

    /// The channel of the underlying connection.
    public var socket: any Channel { channel.parent ?? channel }

    /// Adapts a request to this connection.
    ///
    /// HTTP/1.1 gets `Connection: close`, since no other request follows; HTTP/2 has no such field. A forwarding proxy
    /// gets the absolute URL (RFC 9112, section 3.2.2) and its credentials.
    public func prepared(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headerFields[.connection] = negotiated == .http1 ? "close" : nil
        if let forwardingProxy {
            request.path = "\(request.scheme ?? "http")://\(request.authority ?? "")\(request.path ?? "/")"
            request.headerFields[.proxyAuthorization] = forwardingProxy.authorization
        }
        return request
    }
}
