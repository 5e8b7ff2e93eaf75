import TransferProtocol

/// How much a server of uploads takes on.
public struct UploadPolicy: Hashable, Sendable {
    /// The most bytes of a representation: 16 GiB.
    public var maximumSize: Int64 = 16 << 30
    /// The fewest bytes of a representation.
    public var minimumSize: Int64 = 0
    /// The most bytes of the content of one request; `nil` for no limit of its own.
    public var maximumAppendSize: Int64?
    /// Uploads that are kept at the same time, complete ones included; 503 beyond.
    public var uploads = 1_024
    /// The longest life of an upload in seconds: a day.
    public var lifetime: Int64 = 86_400
    /// The longest time between two requests for an upload in seconds: an hour. A complete one is kept for as long.
    public var idleTimeout: Int64 = 3_600
    /// Bytes after which what was received is brought to the disk: 8 MiB.
    public var checkpointBytes: Int64 = 8 << 20
    /// Whether content with a `Content-Digest` (RFC 9530, section 2) counts only when all of it has come and has that digest. A
    /// server that hands content on as it comes can't take it back, and doesn't look at the field.
    public var checksContentDigest = true
    /// Whether a creation with `If-Match` is refused. A server that hands the head on leaves the field to its handler.
    var refusesIfMatch = true
    /// The least time between two 104 responses with an offset, and the most between two checkpoints.
    public var progressInterval: Duration = .seconds(1)
    /// The most 104 responses to one request. After 30 the time between them doubles with each.
    public var progressResponses = 50

    /// Makes the default policy.
    public init() {}

    /// The limits as they are announced to an upload that was created `age` seconds ago.
    func limits(age: Int64) -> UploadLimits {
        UploadLimits(
            maximumSize: maximumSize,
            minimumSize: minimumSize > 0 ? minimumSize : nil,
            maximumAppendSize: maximumAppendSize,
            lifetime: max(0, min(lifetime - age, idleTimeout))
        )
    }
}

/// A point in time, as the core takes it.
public struct UploadInstant: Hashable, Sendable {
    /// A clock that never goes back, from any origin.
    public var elapsed: Duration
    /// The wall clock in seconds since 1970.
    public var wall: Int64

    /// Makes an instant.
    public init(elapsed: Duration, wall: Int64) {
        self.elapsed = elapsed
        self.wall = wall
    }
}
