import HTTPSemantics

/// The next request of an upload.
public enum UploadRequestPlan: Hashable, Sendable {
    /// The creation request with all content; without a dialect a plain upload.
    case create(UploadWireFormat?)
    /// A creation request without content.
    case reserve(UploadWireFormat)
    /// A request for the target's limits.
    case discoverLimits(UploadWireFormat)
    /// A request for the upload's offset.
    case retrieveOffset(UploadResource)
    /// A slice of the content; it completes the upload if `isLast`.
    case append(UploadResource, from: Int64, count: Int64, isLast: Bool)
    /// A request to cancel the upload.
    case cancel(UploadResource)

    /// The dialect of the request; `nil` for a plain upload.
    public var dialect: UploadWireFormat? {
        switch self {
        case .create(let dialect): dialect
        case .reserve(let dialect), .discoverLimits(let dialect): dialect
        case .retrieveOffset(let resource), .append(let resource, _, _, _), .cancel(let resource): resource.dialect
        }
    }

    /// The upload resource that the request goes to; `nil` for the target.
    public var resource: UploadResource? {
        switch self {
        case .create, .reserve, .discoverLimits: nil
        case .retrieveOffset(let resource), .append(let resource, _, _, _), .cancel(let resource): resource
        }
    }

    /// The content range of the request within `length` bytes; `nil` without content.
    public func content(of length: Int64) -> Range<Int64>? {
        switch self {
        case .create: 0..<length
        case .reserve: 0..<0
        case .append(_, let from, let count, _): from..<from + count
        case .discoverLimits, .retrieveOffset, .cancel: nil
        }
    }

    /// Whether the request completes the upload.
    public var completes: Bool {
        switch self {
        case .create: true
        case .append(_, _, _, let isLast): isLast
        case .reserve, .discoverLimits, .retrieveOffset, .cancel: false
        }
    }
}

/// The next step of an upload.
public enum UploadStep: Hashable, Sendable {
    /// Send this request.
    case send(UploadRequestPlan)
    /// Done: the server has all content.
    case finish(UploadResult)
    /// Give up.
    case fail(TransferRefusal)
}

/// The decision on a response, or on a failed request.
public enum UploadAction: Hashable, Sendable {
    /// Take the next step immediately.
    case proceed
    /// Take the next step immediately. Counts as an attempt.
    case retryNow(TransientFailure)
    /// Take the next step after a backoff of at least `after`.
    case retry(after: Duration?, TransientFailure)
}

/// The effect of an interim response.
public enum InterimResponseEffect: Hashable, Sendable {
    /// None.
    case ignored
    /// The upload resource is known. It must be journalled before more is sent.
    case created(UploadResource)
    /// The server has durably received this many bytes.
    case acknowledged(Int64)
    /// A protocol violation: abort the request and take the next step.
    case violation(UploadViolation)
}

/// The result of a successful upload.
public struct UploadResult: Hashable, Sendable {
    /// The status of the target's response; `nil` when it was lost and the server reports the upload complete.
    public var status: Int?
    /// The server's digest of the representation.
    public var digest: ReprDigest?
    /// The dialect in which the upload ended; `nil` for a plain upload.
    public var dialect: UploadWireFormat?
}
