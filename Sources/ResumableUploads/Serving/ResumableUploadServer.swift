import HTTPTypes
import NIOCore
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
/// interop versions of `UploadDialect`).
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
    private let forwardingProxy: UploadForwarder
    let service: UploadService

    /// Makes the uploads of a server.
    public init(configuration: Configuration = Configuration(), handler: @escaping Handler) {
        var configuration = configuration
        configuration.policy.checksContentDigest = false
        self.configuration = configuration
        forwardingProxy = UploadForwarder(maximumResponseBytes: configuration.maximumResponseBytes, handler)
        let origin = ContinuousClock.now
        service = UploadService(
            storing: forwardingProxy,
            recovered: [],
            policy: configuration.policy,
            now: { UploadInstant(elapsed: ContinuousClock.now - origin, wall: UploadHead.secondsSince1970()) },
            location: { [path = configuration.path] in path + $0.description }
        )
        forwardingProxy.attach(service)
    }

    /// The number of uploads, including ended ones.
    public var count: Int { service.count }

    /// Cancels all uploads and stops. Called once, last.
    public func shutDown() async { await service.shutDown() }

    /// Whether a request is about an upload.
    func handles(_ head: HTTPRequest) -> Bool {
        if head.path?.utf8.starts(with: configuration.path.utf8) == true { return true }
        let resource = UploadRequestHead.Resource.target(UploadTarget(name: "", location: ""))
        let request = UploadRequestHead(
            resource: resource,
            method: head.method,
            fields: head.headerFields,
            contentLength: nil
        )
        // A partial representation is useless to a handler of complete ones.
        return (request.dialect != nil || request.isPartial) && ![.get, .head, .options, .delete].contains(head.method)
    }

    /// Adds the upload limits to the handler's response to OPTIONS.
    func addLimits(to fields: inout HTTPFields, for head: HTTPRequest) {
        guard fields[.uploadLimit] == nil else { return }
        var dialect = UploadDialect.newest
        let named = UploadFields.interopVersion(of: head.headerFields).flatMap { UploadDialect(interopVersion: $0) }
        if let named, named.rules.hasLimits { dialect = named }
        UploadFields(limits: configuration.policy.limits(age: 0)).write(to: &fields, in: dialect)
    }

    /// Calls `body` when the handler of an upload waits for content.
    func whenRead(_ token: UploadToken, _ body: @escaping @Sendable () -> Void) {
        forwardingProxy.whenRead(token, body)
    }

    /// Starts an upload request and returns its upload, which it may create. Returns `nil` for an invalid upload URL.
    func begin(
        _ head: HTTPRequest,
        on channel: any Channel,
        _ connection: @escaping UploadService.Connection
    ) -> (id: UploadRequestID, upload: UploadToken)? {
        let path = head.path ?? ""
        let isUpload = path.utf8.starts(with: configuration.path.utf8)
        let resource: UploadRequestHead.Resource
        var upload: UploadToken?
        if isUpload {
            guard let token = UploadToken(path.dropFirst(configuration.path.count)) else { return nil }
            resource = .upload(token)
            upload = token
        } else {
            resource = .target(UploadTarget(name: "", location: path))
        }
        let request = UploadRequestHead(
            resource: resource,
            method: head.method,
            fields: head.headerFields,
            contentLength: UploadHead.contentLength(of: head.headerFields)
        )
        let id = service.begin(
            request,
            preparing: { token in
                guard !isUpload else { return }
                upload = token
                forwardingProxy.prepare(token, head, channel)
            },
            connection
        )
        return upload.map { (id, $0) }
    }
}
