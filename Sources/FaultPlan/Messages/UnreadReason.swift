/// Why a stream isn't read as HTTP, so that faults of messages don't act on it.
///
/// The raw values are codes of the journal (`why`) and don't change.
public enum UnreadReason: String, Error, CaseIterable, Hashable, Sendable {
    /// The bytes can't be the start of a message of HTTP/1.
    case notHTTP = "not-http"
    /// What might have become the head of a message wasn't whole in time.
    case lateHead = "late-head"
    /// A head has more bytes than are held.
    case longHead = "long-head"
    /// A line of a head is no field (RFC 9112, section 5).
    case malformedField = "malformed-field"
    /// The lengths of a message differ, or one is no number (RFC 9112, section 6.3).
    case invalidLength = "invalid-length"
    /// A message has a length and a transfer coding (RFC 9112, section 6.1).
    case lengthAndCoding = "length-and-coding"
    /// A transfer coding by which the end of the message can't be told (RFC 9112, section 6.3).
    case unknownCoding = "unknown-coding"
    /// The framing of chunks is broken or has too many bytes (RFC 9112, section 7.1).
    case brokenChunks = "broken-chunks"
    /// More requests without a response than are remembered.
    case manyRequests = "many-requests"
    /// A response came that no request had asked for.
    case noRequest = "no-request"
}
