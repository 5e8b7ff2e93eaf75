import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1

/// Properties of a request that its HTTP types head lacks.
struct RequestTraits: Hashable, Sendable {
    /// HTTP/1.0 has no interim responses, and keep-alive is explicit.
    var isHTTP10 = false
    /// Whether the head allows the connection to continue after the response.
    var keepsAlive = true
    /// The content length: 0 without content, `nil` if unknown.
    var contentLength: Int64?
    /// Why the head violates a rule of HTTP/1.
    var problem: String?
    /// Whether the content has a transfer coding other than chunked.
    var isCoded = false

    /// Makes the traits of an HTTP/2 request.
    init(_ head: HTTPRequest) {
        contentLength = head.headerFields[.contentLength].map { ContentLength.parse($0) ?? .max }
    }

    /// Makes the traits of an HTTP/1 request.
    init(_ head: HTTPRequestHead) {
        isHTTP10 = head.version == .http1_0
        let isChunked = head.headers.contains(name: "transfer-encoding")
        let codings = head.headers[canonicalForm: "transfer-encoding"].map { $0.lowercased() }
        isCoded = isChunked && codings != ["chunked"]
        contentLength =
            isChunked ? nil : head.headers.first(name: "content-length").map { ContentLength.parse($0) ?? .max } ?? 0
        // The decoder stops after a request that offers an upgrade; none is ever accepted.
        let offersUpgrade = head.method == .CONNECT || head.headers.contains(name: "upgrade")
        // RFC 9112, section 6.1: chunked framing is invalid in HTTP/1.0.
        keepsAlive = head.isKeepAlive && !offersUpgrade && !(isHTTP10 && isChunked)
        // RFC 9112, section 3.2.
        let hosts = head.headers["host"].count
        if hosts > 1 || hosts == 0 && !isHTTP10 { problem = "A request needs exactly one Host field." }
    }
}

/// Converts HTTP/1 request parts to HTTP types, and responses back, one request at a time.
///
/// It comes after the `HTTPServerPipelineHandler` and enforces rules specific to HTTP/1. NIO's own codec loses the
/// version and the second `Host` field (docs/decisions/0022-library-interface.md).
final class HTTP1Adapter: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private let progress: RequestProgress
    private let isSecure: Bool

    init(_ progress: RequestProgress, isSecure: Bool) {
        self.progress = progress
        self.isSecure = isSecure
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            let traits = RequestTraits(head)
            progress.traits = traits
            progress.endsConnection = false
            context.fireChannelRead(wrapInboundOut(.head(request(head, traits))))
        case .body(let content): context.fireChannelRead(wrapInboundOut(.body(content)))
        case .end(let trailers):
            let trailers = trailers.map { HTTPFields($0, splitCookie: false) }
            context.fireChannelRead(wrapInboundOut(.end(trailers)))
        }
    }

    private func request(_ head: HTTPRequestHead, _ traits: RequestTraits) -> HTTPRequest {
        guard let method = HTTPRequest.Method(head.method.rawValue) else {
            preconditionFailure("The request line was read, so its method is a token")
        }
        var request = HTTPRequest(
            method: method,
            scheme: isSecure ? "https" : "http",
            authority: head.headers.first(name: "host"),
            // The request target as sent, in any form.
            path: head.uri,
            headerFields: HTTPFields(head.headers, splitCookie: false)
        )
        // RFC 9110, section 10.1.1.
        if traits.isHTTP10 { request.headerFields[.expect] = nil }
        return request
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let response):
            var head = HTTPResponseHead(response)
            if response.status.kind == .informational {
                // RFC 9110, section 15.2.
                guard progress.traits?.isHTTP10 != true else {
                    promise?.succeed()
                    return
                }
            } else if progress.endsConnection {
                head.headers.add(name: "Connection", value: "close")
            } else if progress.traits?.isHTTP10 == true {
                head.headers.add(name: "Connection", value: "keep-alive")
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .body(let content): context.write(wrapOutboundOut(.body(.byteBuffer(content))), promise: promise)
        case .end(let trailers): context.write(wrapOutboundOut(.end(trailers.map(HTTPHeaders.init))), promise: promise)
        }
    }
}

extension HTTPField.Name {
    /// `Host` (RFC 9110, section 7.2).
    static let host = registered("Host")
}
