import HTTPTypes
import TransferProtocol

/// The events of a download, in order.
public enum DownloadEvent: Hashable, Sendable {
    /// The partial file is open and locked, with this many verified bytes from an earlier run.
    case started(received: Int64)
    /// This many bytes have been received. Closely spaced events are dropped, except for the last of each connection.
    case progress(received: Int64, total: Int64?)
    /// The server resumed at this offset.
    case resumed(offset: Int64)
    /// The attempt failed; the next follows after this delay, by this rule.
    case retrying(in: Duration, TransientDownloadFailure, RetryRule)
    /// The received bytes were discarded, and the file restarts.
    case restarted(DownloadRestartReason)
    /// The server redirected to this URL.
    case redirected(url: String)
    /// An interim response (RFC 9110, section 15.2).
    case interimResponse(status: Int, fields: HTTPFields)
    /// The network is down. The next attempt follows when there is a route, at most 30 s later.
    case waitingForNetwork
    /// The digest of the complete file matches.
    case verified(DownloadVerification)
    /// The file is complete and renamed. Always the last event, and only on success.
    case finished(DownloadSummary)
}

/// The source of a digest that a file was verified with.
public enum DownloadVerification: String, Hashable, Sendable {
    /// The server's `Repr-Digest`.
    case server
    /// The digest that the caller expected.
    case caller
}

/// A completed download.
public struct DownloadSummary: Hashable, Sendable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// The digests that the file matched.
    public var verified: Set<DownloadVerification>
    /// Connections attempted, including those for redirects.
    public var connections: Int
    /// How often the server resumed at an offset.
    public var resumptions: Int
    /// How often received bytes were discarded.
    public var restarts: Int
    /// Bytes taken over from an earlier run.
    public var bytesRecovered: Int64
    /// Body bytes read, including repeated and discarded ones.
    public var bytesReceived: Int64
    /// Bytes that a later response repeated, equal to the received ones.
    public var bytesCompared: Int64
    /// The evidence that the file is correct.
    public var proof: DownloadProof
    /// The URL that responded, after redirects.
    public var finalURL: String
    /// The duration, including backoff.
    public var duration: Duration

    /// Bytes received more than once, or in vain.
    public var bytesRepeated: Int64 { max(0, bytesReceived - max(0, bytes - bytesRecovered)) }
}
