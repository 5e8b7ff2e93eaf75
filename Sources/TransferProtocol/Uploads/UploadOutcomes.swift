import HTTPSemantics
import HTTPTypes

/// Why an upload attempt failed in a way that a retry may fix.
public enum TransientUploadFailure: Hashable, Sendable {
    /// The request failed: no connection, a lost one, a timeout, or an invalid HTTP response.
    case transport(TransientDownloadFailure)
    /// A retryable status, or one that requires the offset to be retrieved again.
    case status(Int)
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
    case differentDialect(UploadDialect?)
}

/// Why no further attempt is made.
public enum UploadFailure: Hashable, Sendable {
    /// A status that a retry wouldn't change.
    case refused(status: Int)
    /// The same, from a server of another protocol, by its name.
    case otherProtocol(status: Int, String)
    /// 401 or 407: the challenge, and whether the request carried credentials. The upload can be resumed with others.
    case accessRefused(DownloadChallenge, CredentialUse)
    /// The representation is larger or smaller than the server accepts.
    case sizeRefused(limits: UploadLimits)
    /// The server's limit on request content is so small that the upload would need too many requests.
    case appendLimitTooSmall(Int64)
    /// The server doesn't support the requested dialect; the version that it named.
    case dialectRefused(Int64?)
    /// The target responded before all content was sent.
    case respondedEarly(status: Int)
    /// The request failed, the upload can't be resumed, and repeating it might process it twice.
    case notRepeatable(TransientUploadFailure)
    /// All content was sent, the response was lost, and the server no longer has the upload.
    case outcomeUnknown
    /// The upload restarted too often.
    case tooManyRestarts(Int)
    /// Too many redirects, or an invalid one.
    case redirection(status: Int)
    /// The server violated the protocol.
    case violation(UploadViolation)
}

/// How a server violated the resumable upload protocol.
public enum UploadViolation: Hashable, Sendable {
    /// An offset below an acknowledged one.
    case offsetWentBack(acknowledged: Int64, got: Int64)
    /// An offset beyond the end of the representation.
    case offsetBeyondEnd(got: Int64, length: Int64)
    /// Another length than the representation's.
    case lengthDiffers(got: Int64, length: Int64)
    /// The upload is reported complete with too few bytes.
    case completeTooEarly(offset: Int64, length: Int64)
    /// Two upload resources for one request.
    case locationChanged
    /// An incomplete upload without the URL to continue it at.
    case locationMissing
}

/// The head of a response to a request of an upload.
public struct UploadResponseHead: Hashable, Sendable {
    /// The status code, 200 to 999.
    public var status: Int
    /// The header fields. A structured field that came in several lines counts as absent.
    public var fields: HTTPFields
    /// The problem details in the content, if any.
    public var problem: ProblemDetails?
    /// Whether the request carried credentials.
    public var credentialUse: CredentialUse

    /// Makes a head.
    public init(
        status: Int,
        fields: HTTPFields,
        problem: ProblemDetails? = nil,
        credentialUse: CredentialUse = .none
    ) {
        self.status = status
        self.fields = fields
        self.problem = problem
        self.credentialUse = credentialUse
    }
}
