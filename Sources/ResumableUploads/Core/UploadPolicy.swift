import TransferProtocol

/// The limits of an upload server.
public struct UploadPolicy: Hashable, Sendable {
    /// The maximum size of a representation: 16 GiB.
    public var maximumSize: Int64 = 16 << 30
    /// The minimum size of a representation.
    public var minimumSize: Int64 = 0
    /// The maximum content size of a request; `nil` for none.
    public var maximumAppendSize: Int64?
    /// The maximum number of uploads. The outcomes of complete ones, which are kept for clients that lost the response,
    /// make room, the oldest first; beyond it 503.
    public var maximumUploads = 1_024
    /// The maximum lifetime of an upload in seconds: a day.
    public var lifetime: Int64 = 86_400
    /// The maximum time between two requests for an upload in seconds: an hour. A complete upload is kept for as long.
    public var idleTimeout: Int64 = 3_600
    /// A checkpoint is due after this many bytes: 8 MiB.
    public var checkpointBytes: Int64 = 8 << 20
    /// Whether content with a `Content-Digest` (RFC 9530, section 2) counts only when it is complete and matches. A
    /// server that forwards content immediately can't take it back and ignores the field.
    public var checksContentDigest = true
    /// Whether content with a `Content-Encoding` is refused by 415, because it would be stored as it is. A server that forwards
    /// content passes the field on.
    public var refusesContentCodings = true
    /// The minimum interval between two 104 responses with an offset, and the maximum between two checkpoints.
    public var progressInterval: Duration = .seconds(1)
    /// The maximum number of 104 responses to a request. After 30 the interval doubles with each.
    public var maximumProgressResponses = 50

    /// Makes the default policy.
    public init() {}

    /// The limits to announce for an upload of age `age` in seconds.
    func limits(age: Int64) -> UploadLimits {
        UploadLimits(
            maximumSize: maximumSize,
            minimumSize: minimumSize > 0 ? minimumSize : nil,
            maximumAppendSize: maximumAppendSize,
            lifetime: max(0, min(lifetime - age, idleTimeout))
        )
    }
}

/// A point in time on both clocks.
package struct UploadInstant: Hashable, Sendable {
    /// A monotonic clock with any origin.
    package var elapsed: Duration
    /// The wall clock in seconds since 1970.
    package var wall: Int64

    /// Makes an instant.
    package init(elapsed: Duration, wall: Int64) {
        self.elapsed = elapsed
        self.wall = wall
    }
}
