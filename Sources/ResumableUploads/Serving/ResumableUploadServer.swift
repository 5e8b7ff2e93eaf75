import HTTPSemantics
import HTTPTypes
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import TransferProtocol

/// A completed or running upload as one request with its complete content, regardless of how many connections it uses.
public struct UploadedRequest: Sendable {
    /// The head of the creation request, without the fields of resumable uploads. Has `Content-Length` when the length
    /// is known.
    public let head: HTTPRequest
    /// The content.
    public let body: UploadBody
    /// The connection on which the upload started. It may be closed by now.
    public let channel: any Channel
}

/// The response to an upload.
public struct UploadedResponse: Sendable {
    /// The head: a status from 200 to 599, and fields. Framing fields are set by the server.
    public var head: HTTPResponse
    /// The content, at most `ResumableUploadServer.Configuration.maximumResponseBytes` bytes.
    public var content: ByteBuffer

    /// Makes a response.
    public init(head: HTTPResponse, content: ByteBuffer = ByteBuffer()) {
        self.head = head
        self.content = content
    }
}

/// The resumable uploads of an HTTP server, across all its connections (draft-ietf-httpbis-resumable-upload, the
/// interop versions of `UploadWireFormat`).
///
/// A `ResumableUploadHandler` on each connection serves requests that create or resume uploads, and forwards all
/// others. Content is passed to the upload's handler as it arrives, and is acknowledged when the handler has read it.
/// Uploads live in memory: after the process exits, clients restart them.
public final class ResumableUploadServer: Sendable {
    /// Limits and the path of uploads.
    public struct Configuration: Sendable {
        /// Size, count and lifetime limits.
        public var policy = UploadPolicy()
        /// The path prefix of upload URLs, which ends with a slash and is followed by an unguessable token.
        public var path = "/.uploads/"
        /// The maximum size of a response, which is kept for clients that lost it: 64 KiB. A larger one becomes a 500.
        public var maximumResponseBytes = 64 << 10
        /// The maximum content buffered per connection, plus one read: 256 KiB.
        public var bufferBytes = 256 << 10
        /// The maximum content discarded after a response to keep the connection open: 256 KiB. Beyond it the
        /// connection is closed.
        public var maximumDiscardedBytes = 256 << 10
        /// The minimum rate of content, in bytes per second over `contentRateWindow`: 1 KiB/s. A slower request gets 408
        /// and its connection is closed; the upload can be resumed. 0 disables the check.
        public var minimumContentRate = 1 << 10
        /// The waiting time over which the rate is measured: 30 s.
        public var contentRateWindow: TimeAmount = .seconds(30)
        /// How long the connection may take to accept a response: 60 s. The connection or HTTP/2 stream of a client that
        /// reads nothing is closed then; nothing more is read from it meanwhile.
        public var sendTimeout: TimeAmount = .seconds(60)

        /// Makes the default configuration.
        public init() {}
    }

    /// Processes an upload and returns its response. An early return ends the upload. Cancelled when the client deletes
    /// the upload, or it expires. An error becomes a 500.
    public typealias Handler = @Sendable (UploadedRequest) async throws -> UploadedResponse

    /// The limits.
    public let configuration: Configuration
    package let service: UploadService

    /// Makes the uploads of a server.
    public init(configuration: Configuration = Configuration(), handler: @escaping Handler) {
        var configuration = configuration
        configuration.policy.checksContentDigest = false
        configuration.policy.refusesContentCodings = false
        self.configuration = configuration
        let forwarder = UploadForwarder(maximumResponseBytes: configuration.maximumResponseBytes, handler)
        let origin = ContinuousClock.now
        service = UploadService(
            storing: forwarder,
            recovered: [],
            policy: configuration.policy,
            now: { UploadInstant(elapsed: ContinuousClock.now - origin, wall: UploadHead.secondsSince1970()) },
            location: { [path = configuration.path] in path + $0.description }
        )
        forwarder.attach(service)
    }

    /// The number of uploads, including ended ones.
    public var count: Int { service.count }

    /// Cancels all uploads and stops. Called once, last.
    public func shutDown() async { await service.shutDown() }
}

extension ResumableUploadServer: UploadHost {
    package var isOver: Bool { false }
    package var isConnectionManaged: Bool { false }

    package func route(_ head: HTTPRequest) -> UploadRoute {
        let path = head.path ?? ""
        let isUpload = path.utf8.starts(with: configuration.path.utf8)
        let token = isUpload ? UploadToken(path.dropFirst(configuration.path.count)) : nil
        let request = UploadRequestHead(
            resource: token.map { .upload($0) } ?? .target(UploadTarget(name: "", location: path)),
            method: head.method,
            fields: head.headerFields,
            contentLength: contentLength(of: head)
        )
        if !isUpload {
            // A partial representation is useless to a handler of complete ones.
            guard request.dialect != nil || request.isPartial, ![.get, .head, .options, .delete].contains(head.method)
            else { return .forward }
        }
        // The end of the content is unknown (RFC 9112, section 6.3).
        if request.contentLength == .max {
            return .respond(.message(400, "Content-Length is not a number of bytes."), isLast: true)
        }
        guard !isUpload || token != nil else { return .respond(.message(404, "There is no such upload.")) }
        return .upload(request)
    }

    package func endsConnection(after head: HTTPRequest) -> Bool { UploadHead.endsConnection(head.headerFields) }
    /// HTTP/2 doesn't require the field.
    package func contentLength(of head: HTTPRequest) -> Int64? {
        head.headerFields[.contentLength].map { ContentLength.parse($0) ?? .max }
    }

    package func addLimits(to fields: inout HTTPFields, for head: HTTPRequest) {
        guard fields[.uploadLimit] == nil else { return }
        var dialect = UploadWireFormat.newest
        if let named = UploadWireFormat(namedIn: head.headerFields), named.rules.hasLimits { dialect = named }
        dialect.encode(UploadFields(limits: configuration.policy.limits(age: 0)), into: &fields)
    }

    package func complete(_ fields: inout HTTPFields, isLast: Bool, _ context: ChannelHandlerContext) {
        if fields[.date] == nil {
            fields[.date] = HTTPDate(secondsSinceEpoch: UploadHead.secondsSince1970()).headerValue
        }
        guard isLast else { return }
        // HTTP/2 has no such field.
        let isHTTP1 = (try? context.pipeline.syncOperations.handler(type: HTTP1ToHTTPServerCodec.self)) != nil
        if isHTTP1 { fields[.connection] = "close" }
    }

    package func write(_ part: HTTPResponsePart, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext) {
        context.write(NIOAny(part), promise: promise)
    }

    package func note(_ event: UploadHandlerEvent, _ context: ChannelHandlerContext) {}
    package func report(_ request: UploadReport) {}
}
