import HTTPSemantics
import HTTPTypes

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
