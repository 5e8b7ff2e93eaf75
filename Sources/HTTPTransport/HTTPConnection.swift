import HTTPTypes
import NIOCore

/// A connection that was made for one request, or a stream on it.
public struct HTTPConnection: Sendable {
    /// The channel of the request. Above its codec it speaks `HTTPRequestPart` and `HTTPResponsePart`.
    public let channel: any Channel
    /// The protocol of the connection.
    public let spoken: HTTPProtocol
    /// The proxy that forwards the request; `nil` where the connection leads to the server itself, through a tunnel or not.
    let forwarder: HTTPProxy?

    init(channel: any Channel, spoken: HTTPProtocol, forwarder: HTTPProxy? = nil) {
        self.channel = channel
        self.spoken = spoken
        self.forwarder = forwarder
    }

    /// The channel of the connection itself.
    public var socket: any Channel { channel.parent ?? channel }

    /// A request as it is sent on this connection.
    ///
    /// HTTP/1.1 has `Connection: close`, since no other request follows; HTTP/2 has no such field. A proxy that forwards the request
    /// gets the whole URL (RFC 9112, section 3.2.2), and its own credentials.
    public func prepared(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.headerFields[.connection] = spoken == .http1 ? "close" : nil
        if let forwarder {
            request.path = "\(request.scheme ?? "http")://\(request.authority ?? "")\(request.path ?? "/")"
            request.headerFields[.proxyAuthorization] = forwarder.authorization
        }
        return request
    }
}
