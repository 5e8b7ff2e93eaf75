import HTTPTypes
import NIOCore
import TransferProtocol

/// One upload as its handler sees it: a request with all of the content, whatever connections that came over.
public struct UploadedRequest: Sendable {
    /// The head of the request that began the upload, without the fields of resumable uploads. `Content-Length` is there when
    /// the length is known.
    public let head: HTTPRequest
    /// The content.
    public let body: UploadBody
    /// The connection that the upload began on. It may be closed by now.
    public let channel: any Channel
}

/// The answer to an upload.
public struct UploadedAnswer: Sendable {
    /// The head: a status from 200 to 599, and fields. Those of the framing are set for it.
    public var head: HTTPResponse
    /// The content, `ResumableUploadServer.Configuration.longestAnswer` bytes at most.
    public var content: ByteBuffer

    /// Makes an answer.
    public init(head: HTTPResponse, content: ByteBuffer = ByteBuffer()) {
        self.head = head
        self.content = content
    }
}

/// The resumable uploads of an HTTP server, for all of its connections (draft-ietf-httpbis-resumable-upload, the interop
/// versions of `UploadDialect`).
///
/// It stands in front of what the server does anyway: a `ResumableUploadHandler` on each connection takes the requests that
/// create uploads and go on with them, and lets all others pass. Content goes to the handler of the upload as it arrives, and is
/// acknowledged after the handler reads it; offsets are valid until the process exits, since uploads live in memory. Clients
/// restart their uploads then.
public final class ResumableUploadServer: Sendable {
    /// Limits, and where uploads are.
    public struct Configuration: Sendable {
        /// Size, count and lifetime limits.
        public var policy = UploadPolicy()
        /// The beginning of the path of an upload's URL, which ends with a slash. Its name follows, which can't be guessed.
        public var path = "/.uploads/"
        /// The most bytes of an answer, which are kept for clients that lost it: 64 KiB. A longer one becomes a 500.
        public var longestAnswer = 64 << 10
        /// The most bytes of content that wait for the handler on a connection, and one read more: 256 KiB.
        public var bufferBytes = 256 << 10
        /// The most bytes of content that are read and dropped after an answer to keep the connection: 256 KiB. Beyond, it is
        /// closed.
        public var drainedBytes = 256 << 10
        /// The lowest rate of content that is waited for, in bytes a second over `contentWindow`: 1 KiB/s. A slower request gets
        /// 408, and its connection is closed; the upload can be resumed. 0 lets any rate pass.
        public var contentRate = 1 << 10
        /// The waiting time over which the rate of content is measured: 30 s.
        public var contentWindow: TimeAmount = .seconds(30)

        /// Makes the default configuration.
        public init() {}
    }

    /// Takes an upload, and answers it. It may answer before it has read everything: that ends the upload. It is cancelled when
    /// the client deletes the upload, or hasn't come back for as long as the policy says. An error is answered by a 500.
    public typealias Handler = @Sendable (UploadedRequest) async throws -> UploadedAnswer

    /// The limits.
    public let configuration: Configuration
    private let forwarder: UploadForwarder
    private let service: UploadService

    /// Makes the uploads of a server.
    public init(configuration: Configuration = Configuration(), handler: @escaping Handler) {
        var configuration = configuration
        configuration.policy.checksContentDigest = false
        configuration.policy.refusesIfMatch = false
        self.configuration = configuration
        forwarder = UploadForwarder(longestAnswer: configuration.longestAnswer, handler)
        let origin = ContinuousClock.now
        service = UploadService(
            storing: forwarder,
            found: [],
            policy: configuration.policy,
            now: { UploadInstant(elapsed: ContinuousClock.now - origin, wall: UploadHead.secondsSince1970()) },
            location: { [path = configuration.path] in path + $0.description }
        )
        forwarder.tell(service)
    }

    /// The number of uploads that are kept, those that are over included.
    public var count: Int { service.count }

    /// Cancels what is under way, and stops. To be called once, as the last.
    public func shutDown() async { await service.shutDown() }

    /// Whether a request is about an upload.
    func takes(_ head: HTTPRequest) -> Bool {
        if head.path?.utf8.starts(with: configuration.path.utf8) == true { return true }
        let resource = UploadRequest.Resource.target(UploadTarget(name: "", location: ""))
        let request = UploadRequest(
            resource: resource,
            method: head.method,
            fields: head.headerFields,
            contentLength: nil
        )
        // A part of a representation is nothing for a handler that knows no such thing.
        return (request.dialect != nil || request.isPartial) && ![.get, .head, .options, .delete].contains(head.method)
    }

    /// The limits for the response to an OPTIONS request, which is the handler's own.
    func addLimits(to fields: inout HTTPFields, for head: HTTPRequest) {
        guard fields[.uploadLimit] == nil else { return }
        var dialect = UploadDialect.newest
        let named = UploadFields.interopVersion(of: head.headerFields).flatMap { UploadDialect(interopVersion: $0) }
        if let named, named.rules.hasLimits { dialect = named }
        UploadFields(limits: configuration.policy.limits(age: 0)).write(to: &fields, in: dialect)
    }

    /// Calls `body` when the handler of an upload waits for content.
    func whenRead(_ token: UploadToken, _ body: @escaping @Sendable () -> Void) { forwarder.whenRead(token, body) }

    /// Begins a request that is taken, and gives its upload, which the request may create. `nil` when it names an upload that there can't be.
    func begin(
        _ head: HTTPRequest,
        on channel: any Channel,
        _ connection: @escaping UploadService.Connection
    ) -> (id: UploadRequestID, upload: UploadToken)? {
        let path = head.path ?? ""
        let isUpload = path.utf8.starts(with: configuration.path.utf8)
        let resource: UploadRequest.Resource
        var upload: UploadToken?
        if isUpload {
            guard let token = UploadToken(path.dropFirst(configuration.path.count)) else { return nil }
            resource = .upload(token)
            upload = token
        } else {
            resource = .target(UploadTarget(name: "", location: path))
        }
        let request = UploadRequest(
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
                forwarder.prepare(token, head, channel)
            },
            connection
        )
        return upload.map { (id, $0) }
    }

    func handle(_ event: UploadCore.Event) { service.handle(event) }
}
