import HTTPTypes
import TransferProtocol

/// The events of a transfer, in order.
public enum TransferEvent: Hashable, Sendable {
    /// The files are open and locked. A download has this many verified bytes of an earlier run; an upload has this many
    /// bytes in all, and is `isContinued` if an earlier run created it.
    case started(completed: Int64 = 0, total: Int64? = nil, isContinued: Bool = false)
    /// The server has created an upload resource: from now on the upload can be resumed.
    case resumable(dialect: Int)
    /// The bytes that a download has received, or that the server has acknowledged and an upload has `sent`. Closely
    /// spaced events are dropped, except for the last of each connection.
    case progress(completed: Int64, sent: Int64? = nil, total: Int64?)
    /// The transfer resumed at this offset.
    case resumed(offset: Int64)
    /// The attempt failed; the next follows after this delay, by this rule.
    case retrying(in: Duration, TransientFailure, RetryRule)
    /// The transferred bytes were discarded, and the transfer restarts.
    case restarted(RestartReason)
    /// The server redirected a download to this URL.
    case redirected(url: String)
    /// An interim response that isn't about an upload (RFC 9110, section 15.2).
    case interimResponse(status: Int, fields: HTTPFields)
    /// The network is down. The next attempt follows when there is a route, at most 30 s later.
    case waitingForNetwork
    /// The digest of the complete file matches.
    case verified(DigestSource)
    /// The transfer is complete. Always the last event, and only on success.
    case finished(TransferSummary)
}

/// The source of a digest that a file was verified with.
public enum DigestSource: String, Hashable, Sendable {
    /// The server's `Repr-Digest`.
    case server
    /// The digest that the caller expected.
    case caller
}

/// A completed transfer.
public struct TransferSummary: Hashable, Sendable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// Connections attempted, including those for redirects.
    public var connections = 0
    /// How often the transfer resumed at an offset.
    public var resumptions = 0
    /// How often transferred bytes were discarded.
    public var restarts = 0
    /// Bytes taken over from an earlier run.
    public var bytesRecovered: Int64 = 0
    /// Content bytes read from connections or written to them, including repeated and discarded ones.
    public var bytesTransferred: Int64 = 0
    /// The duration, including backoff.
    public var duration = Duration.zero
    /// What only a download or only an upload has.
    public var details: Details

    /// What only a download or only an upload has.
    public enum Details: Hashable, Sendable {
        /// Of a download.
        case download(DownloadDetails)
        /// Of an upload.
        case upload(UploadDetails)
    }

    /// Bytes transferred more than once, or in vain.
    public var bytesRepeated: Int64 { max(0, bytesTransferred - max(0, bytes - bytesRecovered)) }
    /// The details of a download; `nil` for an upload.
    public var download: DownloadDetails? { if case .download(let details) = details { details } else { nil } }
    /// The details of an upload; `nil` for a download.
    public var upload: UploadDetails? { if case .upload(let details) = details { details } else { nil } }
}

/// What only a completed download has.
public struct DownloadDetails: Hashable, Sendable {
    /// The digests that the file matched.
    public var verified: Set<DigestSource>
    /// Bytes that a later response repeated, equal to the received ones.
    public var bytesCompared: Int64
    /// The evidence that the file is correct.
    public var proof: DownloadProof
    /// The URL that responded, after redirects.
    public var finalURL: String
    /// The fields of the last response; empty if there was none.
    public var fields: HTTPFields = [:]
}

/// What only a completed upload has.
public struct UploadDetails: Hashable, Sendable {
    /// The evidence that the server has the file.
    public var proof: UploadProof
    /// The target's response; `nil` when it was lost.
    public var response: UploadedResponse?
    /// The interop version in which the upload ended; `nil` for a plain upload.
    public var dialect: Int?
}

/// The target's response to an upload.
public struct UploadedResponse: Hashable, Sendable {
    /// The status.
    public var status: Int
    /// The header fields.
    public var fields: HTTPFields
    /// The body, as far as it came: at most 1 MiB.
    public var body: [UInt8]

    /// The maximum size of the body that is kept: 1 MiB.
    public static let maximumBodySize = 1 << 20
}

/// The evidence that the server has an uploaded file.
public enum UploadProof: String, Hashable, Sendable {
    /// The server's digest matches the file's.
    case digest
    /// The target accepted the upload without a digest.
    case accepted
    /// The server reports the upload complete; the target's response was lost.
    case complete
}
