import FoundationEssentials
import HTTPSemantics
import HTTPTransport
import NIOCore
import ResumableUploads
import TransferProtocol

/// The configuration of an origin server.
public struct OriginConfiguration: Sendable {
    /// The served folder. A relative path is resolved against the working directory.
    public var folder: String
    /// The name or address to listen on.
    public var host: String
    /// The port to listen on, 0 to 65,535; 0 for any free port.
    public var port: Int
    /// The server side of TLS; `nil`, the default, for plain HTTP.
    public var tls: (any ServerTLS)?
    /// The limits.
    public var limits: OriginLimits
    /// The wall clock in whole seconds, for `Date` and comparisons with file dates.
    public var now: @Sendable () -> HTTPDate
    /// Called once per request, after its last byte was passed to the system or its connection was lost; on any thread,
    /// concurrently for several connections. It should return quickly.
    public var onRequest: (@Sendable (RequestRecord) -> Void)?
    /// Called each time that accepting pauses, at most every 100 ms: at `OriginLimits.acceptedConnections`, or when the
    /// system has no descriptors or memory for a connection. On any thread; it should return quickly.
    public var onPause: (@Sendable () -> Void)?

    /// The folder for uploaded files and its limits; `nil` for no uploads.
    public var uploads: Uploads?

    /// The upload configuration.
    public struct Uploads: Sendable {
        /// The folder: the served one, one in it, or one elsewhere. A relative path is resolved against the working
        /// directory.
        public var folder: String
        /// The limits of uploads.
        public var policy: UploadPolicy

        /// Makes a configuration.
        public init(folder: String, policy: UploadPolicy = UploadPolicy()) {
            self.folder = folder
            self.policy = policy
        }
    }

    /// Makes a configuration; the defaults are loopback, any free port and the system's clock.
    public init(
        folder: String,
        host: String = "127.0.0.1",
        port: Int = 0,
        limits: OriginLimits = OriginLimits(),
        now: @escaping @Sendable () -> HTTPDate = { HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970)) },
        onRequest: (@Sendable (RequestRecord) -> Void)? = nil,
        uploads: Uploads? = nil
    ) {
        self.folder = folder
        self.host = host
        self.port = port
        self.limits = limits
        self.now = now
        self.onRequest = onRequest
        self.uploads = uploads
    }
}

/// The limits of an origin server. The defaults suit a server under test.
public struct OriginLimits: Hashable, Sendable {
    /// The maximum number of concurrent connections. The next `refusedConnections` get a 503; further ones are closed
    /// immediately.
    public var connections = 1_024
    /// The number of connections beyond `connections` that get a 503 rather than being closed.
    public var refusedConnections = 64
    /// The number of open connections at which further ones wait to be accepted, instead of being refused. A few more may
    /// be accepted.
    public var acceptedConnections = Int.max
    /// The maximum number of concurrent requests on an HTTP/2 connection.
    public var concurrentRequests = 16
    /// The maximum size of the request line and fields, in bytes; beyond it 431.
    public var headBytes = 32_768
    /// The maximum number of fields; beyond it 431.
    public var headFields = 100
    /// The maximum request content discarded to keep the connection open, in bytes. Beyond it the response is sent
    /// immediately and the connection closes.
    public var maximumDiscardedBytes = 65_536
    /// The time limit from the first byte of a request's head to its last; then the connection closes.
    public var headTimeout: TimeAmount = .seconds(30)
    /// The minimum rate of request content while the server waits for it, in bytes per second; below it 408. Applies to
    /// uploads and discarded content, and doesn't limit an upload's total time.
    public var minimumContentRate = 1_024
    /// The interval over which the rate is measured.
    public var contentRateWindow: TimeAmount = .seconds(30)
    /// The time limit from the start of a connection, or the end of a response, to the next request.
    public var idleTimeout: TimeAmount = .seconds(60)
    /// The time limit without progress while a response is sent; then the connection closes. Progress is measured in
    /// chunks of `chunkBytes`.
    public var stallTimeout: TimeAmount = .seconds(300)
    /// The time limit from the last response to the client's close.
    public var lingerTimeout: TimeAmount = .seconds(5)
    /// The time limit from `shutdown()` to closing connections that are still sending.
    public var shutdownTimeout: TimeAmount = .seconds(10)
    /// The size of a file read. A connection buffers at most three chunks: one read ahead and two being sent.
    public var chunkBytes = 131_072
    /// The number of cached digests, evicted oldest first.
    public var cachedDigests = 1_024
    /// The maximum number of concurrent digest computations; further ones are queued.
    public var concurrentDigests = 4
    /// How long a response waits for its digest before it is sent without one. A running computation continues for
    /// later responses, such as those to a resumed transfer. Must be below the first-byte timeout of clients; that of
    /// `squall get` is 30 s.
    public var digestTimeout: TimeAmount = .seconds(10)

    /// The maximum upload content buffered in memory; beyond it reading pauses.
    public var uploadBufferBytes = 262_144

    /// Makes the default limits.
    public init() {}
}
