import HTTPSemantics
import HTTPTypes

/// Why an attempt failed in a way that a retry may fix.
public enum TransientFailure: Error, Hashable {
    /// No connection, or one that failed before the server processed the request: the system's message.
    case connectFailed(String)
    /// No route to the host, or no name server: the system's message.
    case unreachable(String)
    /// The connection wasn't established in time.
    case connectTimedOut
    /// The connection ended early: the system's message.
    case connectionLost(String)
    /// No final response head in time.
    case firstByteTimedOut
    /// The throughput fell below the minimum.
    case stalled
    /// The deadline of the transfer passed.
    case deadlineExceeded
    /// An invalid HTTP response, or one above a limit: the parser's message.
    case malformedResponse(String)
    /// A retryable status, or one that requires the offset of an upload to be retrieved again.
    case status(Int)

    /// An unusable response.
    case rejected(DownloadRejection)
    /// The body ended, properly framed, before its announced length.
    case bodyTooShort
    /// The response was complete, but the file isn't.
    case partialOnly
    /// The representation isn't the one of the received bytes.
    case representationChanged
    /// The response came from another URL than the received bytes.
    case differentURL
    /// Whether the received bytes are complete must be queried.
    case completenessUnknown
    /// Received bytes were damaged on disk.
    case receivedBytesDamaged

    /// The response to the offset request has no offset.
    case noOffset
    /// The server accepted a request but its offset didn't change.
    case noProgress
    /// The server has lost the upload, which restarts.
    case uploadGone
    /// The upload's lifetime has passed, so it restarts.
    case uploadExpired
    /// The server requires smaller requests.
    case smallerRequests
    /// The server supports another version.
    case differentDialect(UploadWireFormat?)

    /// Whether a lost network may be the cause.
    public var mayBeNetworkLoss: Bool {
        switch self {
        case .unreachable, .connectTimedOut: true
        default: false
        }
    }

    /// Whether the target can't have processed the request.
    var isUnprocessed: Bool {
        switch self {
        case .connectFailed, .unreachable, .connectTimedOut, .status(429), .status(503): true
        default: false
        }
    }
}

extension Int {
    /// Whether a later response may have another status.
    package var isTransientStatus: Bool {
        switch self {
        case 408, 425, 429, 500, 502...504, 506...599: true
        default: false
        }
    }
}

extension HTTPFields {
    /// The minimum delay in `Retry-After`, relative to `now`, the wall clock in seconds since 1970.
    func retryAfter(now: Int64) -> Duration? { self[.retryAfter].flatMap { RetryAfter.delay($0, now: now) } }
}

/// Why no further attempt is made.
public enum TransferRefusal: Hashable, Sendable {
    /// A status that a retry wouldn't change.
    case status(Int)
    /// The same, from a server of another protocol, by its name.
    case otherProtocol(status: Int, String)
    /// A status or redirect with which the server refuses to continue an unfinished upload that it may still have, and
    /// the path of its journal. The transfer can be resumed.
    case uploadRefused(status: Int, journal: String? = nil)
    /// 401 or 407: the challenge, and whether the request carried credentials. The transfer can be resumed with others.
    case unauthorized(HTTPChallenge, CredentialUse)
    /// A redirect without `Location`; in an upload also an invalid one, or too many. With a URL, a POST that may become a
    /// GET there (RFC 9110, sections 15.4.2 and 15.4.3).
    case redirection(status: Int, to: String? = nil)

    /// A `Content-Length` that is no number or beside `Transfer-Encoding`, or lines of the head that end in LF alone: nobody can tell
    /// where the response ends (RFC 9112, sections 2.2 and 6.3).
    case ambiguousLength
    /// A content coding although only `identity` was accepted: the bytes wouldn't be the file's.
    case contentEncoding(String)

    /// The representation is larger or smaller than the server accepts.
    case sizeRefused(limits: UploadLimits)
    /// The server's limit on request content is so small that the upload would need too many requests.
    case appendLimitTooSmall(Int64)
    /// The server doesn't support the requested dialect; the version that it named.
    case dialectRefused(Int64?)
    /// The target responded before all content was sent.
    case respondedEarly(status: Int)
    /// The request failed, the upload can't be resumed, and repeating it might process it twice.
    case notRepeatable(TransientFailure)
    /// All content was sent, the response was lost, and the server no longer has the upload.
    case outcomeUnknown
    /// The upload restarted too often.
    case tooManyRestarts(Int)
    /// The server violated the protocol.
    case violation(UploadViolation)

    /// The status of the response, if it decided.
    public var status: Int? {
        switch self {
        case .status(let status), .uploadRefused(let status, _), .otherProtocol(let status, _),
            .redirection(let status, _), .respondedEarly(let status):
            status
        case .unauthorized(let challenge, _): challenge.isFromProxy ? 407 : 401
        default: nil
        }
    }
}

/// Why a transfer starts over.
public enum RestartReason: Hashable, Sendable {
    /// The representation has changed.
    case representationChanged
    /// The server ignored `Range` and sent the full representation, unchanged.
    case rangeIgnored
    /// The server's partial responses are unusable.
    case rangeUnusable(DownloadRejection)
    /// The digest of the complete file was wrong.
    case digestMismatch
    /// The journal can't be read, or doesn't match the partial file.
    case journalUnusable
    /// The partial file came from another URL.
    case differentURL

    /// The server no longer has the upload, or its lifetime has passed.
    case uploadGone
    /// The file of the upload has changed.
    case sourceChanged
    /// The upload was created in a dialect that isn't allowed now.
    case differentDialect
}
