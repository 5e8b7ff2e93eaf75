import HTTPTypes
import TransferProtocol

/// What happens during a download, in the order in which it happens.
public enum DownloadEvent: Hashable, Sendable {
    /// The partial file is open and locked; it holds so many trusted bytes of an earlier run.
    case started(held: Int64)
    /// So many bytes of the file are held now. Events that follow each other closely are left out, never the last one
    /// of a connection.
    case progress(received: Int64, total: Int64?)
    /// The server goes on at this offset.
    case resumed(offset: Int64)
    /// The attempt failed; the next one follows after this time, by this rule.
    case retrying(in: Duration, DownloadSetback, RetryRule)
    /// The held bytes were thrown away, and the file starts over.
    case restarted(DownloadRestartReason)
    /// The server sent the request on to this URL.
    case redirected(url: String)
    /// An informational response came before the final one (RFC 9110, section 15.2).
    case informed(status: Int, fields: HTTPFields)
    /// The network is away. The next attempt follows when there is a route again, and at the latest after 30 s.
    case waitingForNetwork
    /// The digest of the complete file is right.
    case verified(DownloadVerification)
    /// The file is complete and in its place. Always the last event, and only sent on success.
    case finished(DownloadSummary)
}

/// Whose digest a file was compared with.
public enum DownloadVerification: String, Hashable, Sendable {
    /// The server's `Repr-Digest`.
    case server
    /// The digest that the caller expected.
    case caller
}

/// A download that came to its end.
public struct DownloadSummary: Hashable, Sendable {
    /// The length of the file.
    public var bytes: Int64
    /// The SHA-256 of the file: 32 bytes.
    public var sha256: [UInt8]
    /// The digests that the file was compared with, all of them equal.
    public var verified: Set<DownloadVerification>
    /// How many connections were tried, redirections included.
    public var connections: Int
    /// How many times the server went on at an offset.
    public var resumptions: Int
    /// How many times held bytes were thrown away.
    public var restarts: Int
    /// The bytes that an earlier run had left and this one trusted.
    public var heldAtStart: Int64
    /// The bytes of all bodies that were read, repeated and thrown away ones included.
    public var bytesReceived: Int64
    /// What vouches for the file.
    public var proof: DownloadProof
    /// The URL that answered, after redirections.
    public var finalURL: String
    /// How long it took, waits included.
    public var duration: Duration

    /// The bytes that were received more than once, or for nothing.
    public var bytesRepeated: Int64 { max(0, bytesReceived - max(0, bytes - heldAtStart)) }
}
