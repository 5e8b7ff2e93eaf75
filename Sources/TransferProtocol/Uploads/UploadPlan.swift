import HTTPSemantics

/// The next request of an upload.
public enum UploadPlan: Hashable, Sendable {
    /// The request to the target with all of the content; without a dialect it is an ordinary upload.
    case create(UploadDialect?)
    /// A request to the target without content that only makes the upload resource.
    case reserve(UploadDialect)
    /// A request for the limits that the target sets.
    case discoverLimits(UploadDialect)
    /// A request for the offset of the upload.
    case askOffset(UploadResource)
    /// A slice of the content; the upload is complete with it when `isLast`.
    case append(UploadResource, from: Int64, count: Int64, isLast: Bool)
    /// A request to end the upload and to forget its bytes.
    case cancel(UploadResource)

    /// The dialect of the request; `nil` for an ordinary upload.
    public var dialect: UploadDialect? {
        switch self {
        case .create(let dialect): dialect
        case .reserve(let dialect), .discoverLimits(let dialect): dialect
        case .askOffset(let resource), .append(let resource, _, _, _), .cancel(let resource): resource.dialect
        }
    }

    /// The upload resource that is asked; `nil` when the target is.
    public var resource: UploadResource? {
        switch self {
        case .create, .reserve, .discoverLimits: nil
        case .askOffset(let resource), .append(let resource, _, _, _), .cancel(let resource): resource
        }
    }

    /// The bytes of a representation of `length` bytes that the request carries; `nil` when it has no content.
    public func content(of length: Int64) -> Range<Int64>? {
        switch self {
        case .create: 0..<length
        case .reserve: 0..<0
        case .append(_, let from, let count, _): from..<from + count
        case .discoverLimits, .askOffset, .cancel: nil
        }
    }

    /// Whether the upload of `length` bytes is complete once the request has been received.
    public var completes: Bool {
        switch self {
        case .create: true
        case .append(_, _, _, let isLast): isLast
        case .reserve, .discoverLimits, .askOffset, .cancel: false
        }
    }
}

/// What an upload does next.
public enum UploadStep: Hashable, Sendable {
    /// Send this request.
    case send(UploadPlan)
    /// Nothing more: the server has all of the content.
    case finish(UploadResult)
    /// Give up.
    case fail(UploadFailure)
}

/// What to do about a response, or about the loss of one.
public enum UploadAction: Hashable, Sendable {
    /// Take the next step at once.
    case proceed
    /// Take the next step at once. Counts as an attempt.
    case askAgain(UploadSetback)
    /// Take the next step after a wait, which is no shorter than `after`.
    case retry(after: Duration?, UploadSetback)
}

/// What an informational response means.
public enum UploadNotice: Hashable, Sendable {
    /// Nothing for this upload.
    case ignored
    /// The upload resource is known now. It is to be on the disk before more is sent.
    case created(UploadResource)
    /// The server has this many bytes for certain.
    case acknowledged(Int64)
    /// The server broke the protocol: leave the request and take the next step.
    case violation(UploadViolation)
}

/// The end of an upload that the server accepted.
public struct UploadResult: Hashable, Sendable {
    /// The status of the target's response; `nil` when it was lost, and the server says that the upload is complete.
    public var status: Int?
    /// The digest of the representation that the server told.
    public var digest: ReprDigest?
    /// The dialect that the upload ended in; `nil` for an ordinary upload.
    public var dialect: UploadDialect?

    /// Makes a result.
    public init(status: Int?, digest: ReprDigest? = nil, dialect: UploadDialect? = nil) {
        self.status = status
        self.digest = digest
        self.dialect = dialect
    }
}
