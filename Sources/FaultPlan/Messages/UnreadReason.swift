/// Why a stream isn't read as HTTP, so that faults on messages don't act on it.
///
/// The raw values are codes of the journal (`why`) and don't change.
public enum UnreadReason: String, Error, CaseIterable, Hashable, Sendable {
    /// The bytes can't be the start of a message of HTTP/1.
    case notHTTP = "not-http"
    /// The connection begins with a handshake of TLS (RFC 8446, section 5.1).
    case tls
    /// The connection begins with the preface of HTTP/2 (RFC 9113, section 3.4).
    case http2 = "http-2"
    /// The head of a message wasn't complete in time.
    case lateHead = "late-head"
    /// A head is longer than the limit.
    case longHead = "long-head"
    /// A line of a head isn't a field (RFC 9112, section 5).
    case malformedField = "malformed-field"
    /// The lengths of a message differ or are invalid (RFC 9112, section 6.3).
    case invalidLength = "invalid-length"
    /// A message has both a length and a transfer coding (RFC 9112, section 6.1).
    case lengthAndCoding = "length-and-coding"
    /// The transfer coding doesn't determine the end of the message (RFC 9112, section 6.3).
    case unknownCoding = "unknown-coding"
    /// The chunk framing is broken or too long (RFC 9112, section 7.1).
    case brokenChunks = "broken-chunks"
    /// More unanswered requests than are remembered.
    case manyRequests = "many-requests"
    /// A response without a request.
    case noRequest = "no-request"
}

extension UnreadReason {
    /// A sentence about the stream and its consequence: "the stream is TLS, so faults of HTTP messages can't act on it".
    public var sentence: String {
        let stream =
            switch self {
            case .tls: "is TLS"
            case .http2: "is HTTP/2"
            case .notHTTP: "isn't HTTP/1"
            case .lateHead, .longHead, .malformedField, .invalidLength, .lengthAndCoding, .unknownCoding, .brokenChunks,
                .manyRequests, .noRequest:
                "can't be read as HTTP/1 (\(rawValue))"
            }
        return "the stream \(stream), so faults of HTTP messages can't act on it"
    }
}
