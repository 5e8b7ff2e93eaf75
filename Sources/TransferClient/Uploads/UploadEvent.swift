import HTTPTypes
import TransferProtocol

/// What happens during an upload, in the order in which it happens.
public enum UploadEvent: Hashable, Sendable {
    /// The file is open and hashed. `isContinued` tells that an earlier run had created the upload.
    case started(total: Int64, isContinued: Bool)
    /// The server has a resource for the upload: from now on it can be resumed.
    case resumable(dialect: Int)
    /// How far the bytes have been handed to the connection, and how many the server has promised to have. Events that
    /// follow each other closely are left out.
    case progress(sent: Int64, acknowledged: Int64, total: Int64)
    /// The upload goes on at this offset, which the server told.
    case resumed(offset: Int64)
    /// The attempt failed; the next one follows after this time.
    case retrying(in: Duration, UploadSetback)
    /// An informational response that tells nothing of the upload came (RFC 9110, section 15.2).
    case informed(status: Int, fields: HTTPFields)
    /// The network is away. The next attempt follows when there is a route again, and at the latest after 30 s.
    case waitingForNetwork
    /// The upload starts anew.
    case restarted(UploadRestartReason)
    /// The digest that the server told is the file's.
    case verified
    /// The server has the file. Always the last event, and only sent on success.
    case finished(UploadSummary)
}

/// Why an upload starts anew.
public enum UploadRestartReason: Hashable, Sendable {
    /// The server no longer has it, or its lifetime has passed.
    case uploadGone
    /// The file isn't what it was.
    case sourceChanged
    /// Another dialect is asked for than the upload was created in.
    case otherDialect
}

/// What proves that the server has the file.
public enum UploadProof: String, Hashable, Sendable {
    /// The server told a digest, and it is the file's.
    case digest
    /// The target accepted the whole and told no digest.
    case accepted
    /// The server says that it has the whole; the response of the target was lost.
    case complete
}

/// An upload that came to its end.
public struct UploadSummary: Hashable, Sendable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// What proves that the server has the file.
    public var proof: UploadProof
    /// The status of the target's response; `nil` when it was lost.
    public var status: Int?
    /// The interop version that the upload ended in; `nil` for an ordinary upload.
    public var dialect: Int?
    /// How many connections were tried.
    public var connections: Int
    /// How many times the upload went on at an offset.
    public var resumptions: Int
    /// How many times the upload started anew.
    public var restarts: Int
    /// The offset at which this run began.
    public var acknowledgedAtStart: Int64
    /// The bytes of content that were handed to connections.
    public var bytesSent: Int64
    /// How long it took, waits included.
    public var duration: Duration

    /// The bytes that were sent more than once, or for nothing.
    public var bytesRepeated: Int64 { max(0, bytesSent - max(0, bytes - acknowledgedAtStart)) }
}
