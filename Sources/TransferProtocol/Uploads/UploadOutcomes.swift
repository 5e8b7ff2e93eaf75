import HTTPSemantics
import HTTPTypes

/// Why an attempt brought an upload to no end, though another one may.
public enum UploadSetback: Hashable, Sendable {
    /// The exchange failed: no connection, a lost one, a time limit, or a response that isn't HTTP.
    case transport(DownloadSetback)
    /// A status that asks to come back later, or to look at the offset again.
    case status(Int)
    /// The answer to the request for the offset names none.
    case noOffset
    /// The server took a request, and its offset is where it was.
    case noProgress
    /// The server no longer has the upload, which starts anew.
    case uploadGone
    /// The upload has passed the lifetime that the server gave it, and starts anew.
    case uploadExpired
    /// The server asks for smaller requests.
    case smallerRequests
    /// The server speaks another version.
    case otherDialect(UploadDialect?)
}

/// Why no further attempt is made.
public enum UploadFailure: Hashable, Sendable {
    /// A status that no repetition changes.
    case refused(status: Int)
    /// 401 or 407: what is asked for, and whether the request carried credentials. The upload can be continued with others.
    case accessRefused(DownloadChallenge, CredentialUse)
    /// The representation has more bytes than the server takes, or fewer.
    case sizeRefused(limits: UploadLimits)
    /// The server takes so few bytes in a request that the upload would need too many of them.
    case appendLimitTooSmall(Int64)
    /// The server doesn't speak the dialect that was asked for; the version that it named.
    case dialectRefused(Int64?)
    /// The target answered well before all of the content was sent.
    case answeredEarly(status: Int)
    /// The exchange failed, the upload can't be resumed, and repeating the whole request may do it twice.
    case notRepeatable(UploadSetback)
    /// All of the content was sent, the response was lost, and the server no longer has the upload.
    case outcomeUnknown
    /// The upload started anew too often.
    case tooManyRestarts(Int)
    /// More redirections than are followed, or one that can't be.
    case redirection(status: Int)
    /// The server broke the protocol.
    case violation(UploadViolation)
}

/// How a server broke the protocol of resumable uploads.
public enum UploadViolation: Hashable, Sendable {
    /// An offset below one that it had acknowledged.
    case offsetWentBack(acknowledged: Int64, got: Int64)
    /// An offset beyond the end of the representation.
    case offsetBeyondEnd(got: Int64, length: Int64)
    /// Another length than the representation's.
    case lengthDiffers(got: Int64, length: Int64)
    /// The upload is said to be complete with fewer bytes than it has.
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
    /// The problem that the content explains, if it does.
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
