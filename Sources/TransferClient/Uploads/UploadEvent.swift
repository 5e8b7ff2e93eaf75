import HTTPTypes
import TransferProtocol

/// The events of an upload, in order.
public enum UploadEvent: Hashable, Sendable {
    /// The file is open and hashed. `canBeCombined`: an earlier run created the upload.
    case started(total: Int64, canBeCombined: Bool)
    /// The server has created an upload resource: from now on the upload can be resumed.
    case resumable(dialect: Int)
    /// The bytes written to the connection, and those acknowledged by the server. Closely spaced events are dropped.
    case progress(sent: Int64, acknowledged: Int64, total: Int64)
    /// The upload resumes at this offset, reported by the server.
    case resumed(offset: Int64)
    /// The attempt failed; the next one follows after this delay.
    case retrying(in: Duration, TransientUploadFailure)
    /// An interim response that isn't about the upload (RFC 9110, section 15.2).
    case interimResponse(status: Int, fields: HTTPFields)
    /// The network is down. The next attempt follows when there is a route, at most 30 s later.
    case waitingForNetwork
    /// The upload restarts.
    case restarted(UploadRestartReason)
    /// The server's digest matches the file's.
    case verified
    /// The server has the file. Always the last event, and only on success.
    case finished(UploadSummary)
}

/// Why an upload restarts.
public enum UploadRestartReason: Hashable, Sendable {
    /// The server no longer has it, or its lifetime has passed.
    case uploadGone
    /// The file has changed.
    case sourceChanged
    /// The upload was created in a dialect that isn't allowed now.
    case differentDialect
}

/// The evidence that the server has the file.
public enum UploadProof: String, Hashable, Sendable {
    /// The server's digest matches the file's.
    case digest
    /// The target accepted the upload without a digest.
    case accepted
    /// The server reports the upload complete; the target's response was lost.
    case complete
}

/// A completed upload.
public struct UploadSummary: Hashable, Sendable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// The evidence that the server has the file.
    public var proof: UploadProof
    /// The status of the target's response; `nil` when it was lost.
    public var status: Int?
    /// The interop version in which the upload ended; `nil` for a plain upload.
    public var dialect: Int?
    /// Connections attempted.
    public var connections: Int
    /// How often the upload resumed at an offset.
    public var resumptions: Int
    /// How often the upload restarted.
    public var restarts: Int
    /// The offset at which this run started.
    public var acknowledgedAtStart: Int64
    /// Content bytes written to connections.
    public var bytesSent: Int64
    /// The duration, including backoff.
    public var duration: Duration

    /// Bytes sent more than once, or in vain.
    public var bytesRepeated: Int64 { max(0, bytesSent - max(0, bytes - acknowledgedAtStart)) }
}
