import HTTPSemantics
import HTTPTransport
import NIOCore
import ResumableUploads
import TransferProtocol

/// What an origin server serves, where, and within which limits.
public struct OriginConfiguration: Sendable {
    /// The folder whose files are served. A relative path counts from the current folder.
    public var folder: String
    /// The name or address to listen on.
    public var host: String
    /// The port to listen on, 0 to 65,535; 0 lets the system choose one.
    public var port: Int
    /// What clients are shown to prove the server, which speaks TLS then; `nil` for plain HTTP.
    public var tls: TLSIdentity?
    /// Whether HTTP/2 is spoken with clients that ask for it in TLS.
    public var offersHTTP2 = true
    /// How much the server takes on.
    public var limits: OriginLimits
    /// The wall clock, in whole seconds: what `Date` says, and what file dates are compared with.
    public var now: @Sendable () -> HTTPDate
    /// Called once for each request, after its last byte was handed to the system or its connection broke; on any
    /// thread, at the same time for several connections, and it is waited for: it should be quick.
    public var onRequest: (@Sendable (RequestRecord) -> Void)?

    /// The folder that uploaded files are put in, and how much it takes; `nil` for a server that takes none.
    public var uploads: Uploads?

    /// A folder for uploads.
    public struct Uploads: Sendable {
        /// The folder: the served one, one in it, or one elsewhere. A relative path counts from the current folder.
        public var folder: String
        /// How much is taken on.
        public var policy: UploadPolicy

        /// Makes a configuration.
        public init(folder: String, policy: UploadPolicy = UploadPolicy()) {
            self.folder = folder
            self.policy = policy
        }
    }

    /// Makes a configuration; everything but the folder has a default: loopback only, any port, the system's clock.
    public init(
        folder: String,
        host: String = "127.0.0.1",
        port: Int = 0,
        limits: OriginLimits = OriginLimits(),
        now: @escaping @Sendable () -> HTTPDate = SystemClock.now,
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

/// How much an origin server takes on. Every bound has a default that suits a server under test.
public struct OriginLimits: Hashable, Sendable {
    /// Connections served at the same time. The next `refusedConnections` get 503 for their first request, those
    /// beyond are closed at once.
    public var connections = 1_024
    /// Connections beyond `connections` that are told so, rather than closed without a word.
    public var refusedConnections = 64
    /// Requests served at the same time on a connection by HTTP/2.
    public var concurrentRequests = 16
    /// Bytes of the request line and of all fields of a request together; 431 beyond.
    public var headBytes = 32_768
    /// Fields of a request; 431 beyond.
    public var headFields = 100
    /// Bytes of a request's content that are read and thrown away so that the connection can go on. With more, the
    /// answer comes at once and the connection ends.
    public var drainedBytes = 65_536
    /// From the first byte of a request's head to its last; the connection is closed beyond.
    public var headTimeout: TimeAmount = .seconds(30)
    /// Bytes a second that content brings at least, while the server waits for it: 408 below. It holds for uploads and for
    /// content that is dropped, and bounds no upload's whole time.
    public var contentRate = 1_024
    /// The time over which this rate is measured.
    public var contentWindow: TimeAmount = .seconds(30)
    /// From the start of a connection, or the end of an answer, to the first byte of the next request.
    public var idleTimeout: TimeAmount = .seconds(60)
    /// Without progress while an answer is being sent; the connection is then closed, whatever is unsent. Progress is
    /// counted in chunks of `chunkBytes`.
    public var stallTimeout: TimeAmount = .seconds(300)
    /// From the last answer of a connection to its close, unless the client closes before.
    public var lingerTimeout: TimeAmount = .seconds(5)
    /// From `shutdown()` to the close of whatever is still being sent.
    public var shutdownTimeout: TimeAmount = .seconds(10)
    /// Bytes of a file read at once. A connection holds three chunks at most: one read ahead and two being sent.
    public var chunkBytes = 131_072
    /// Digests remembered, the oldest forgotten first.
    public var cachedDigests = 1_024
    /// Files digested at the same time; further ones wait for their turn.
    public var concurrentDigests = 4
    /// How long an answer waits for the digest of its file. It goes without one afterwards, and a digest that is being
    /// computed will be there for later answers: those to a transfer that is resumed, for one. Shorter than the time
    /// that clients wait for a first byte; `squall get` waits for 30 s.
    public var digestTimeout: TimeAmount = .seconds(10)

    /// Bytes of an upload's content that wait in memory; with more, nothing is read from the connection.
    public var uploadBufferBytes = 262_144

    /// Makes the default limits.
    public init() {}
}
