import HTTPTypes

/// The state machine of an upload: the next request, and the meaning of each response.
///
/// A value without files, sockets or clocks. It finishes only when the server reports all content as received, and
/// appends only at the offset that the server last reported.
public struct UploadState: Hashable, Sendable {
    /// The constants of an upload.
    public struct Parameters: Hashable, Sendable {
        /// The URL of the target.
        public var target: TransferURL
        /// The bytes of the representation, 0 to `UploadFields.largest`.
        public var length: Int64
        /// The allowed dialects.
        public var dialects: UploadFormatChoice
        /// Whether the full request may be repeated: the method is idempotent, or the caller allows it.
        public var isRepeatable: Bool
        /// Whether the method is POST.
        public var isPost = false

        /// Makes the parameters.
        public init(target: TransferURL, length: Int64, dialects: UploadFormatChoice, isRepeatable: Bool) {
            self.target = target
            self.length = length
            self.dialects = dialects
            self.isRepeatable = isRepeatable
        }
    }

    /// The phase of an upload.
    public enum Phase: Hashable, Sendable {
        /// The next request creates the upload, in this dialect or as a plain one.
        case creating(UploadWireFormat?)
        /// The next request retrieves the target's limits.
        case discovering(UploadWireFormat)
        /// The next request creates the upload without content.
        case reserving(UploadWireFormat)
        /// The next request retrieves the offset.
        case retrievingOffset(UploadResource)
        /// The next request appends at this offset, which the server has just reported.
        case appending(UploadResource, from: Int64)
        /// The server has all content.
        case finished(UploadResult)
        /// No further request makes sense.
        case failed(TransferRefusal)
    }

    /// The maximum number of restarts after the server lost the upload: 10.
    public static let maximumRestarts = 10
    /// The maximum number of redirects in a row, without progress between them: 10.
    public static let maximumRedirects = 10
    /// The minimum content size to which requests shrink unless the server demands less: 64 KiB.
    public static let minimumChunkSize: Int64 = 64 << 10
    /// The minimum acceptable `max-append-size`: 1 KiB.
    public static let minimumAppendLimit: Int64 = 1 << 10

    /// The constants of the upload.
    public let parameters: Parameters
    /// The current phase.
    public internal(set) var phase: Phase
    /// The offset that the server has acknowledged.
    public internal(set) var acknowledged: Int64 = 0
    /// The number of restarts.
    public internal(set) var restarts = 0
    /// Uploads that are no longer wanted; the server can be asked to delete them.
    public internal(set) var abandoned: [UploadResource] = []
    /// The caller's URL for creations: the target's, or its replacement.
    public internal(set) var target: TransferURL
    /// The redirections of creation requests, from the target over its replacement.
    var creation: RedirectChain
    /// The URL of creation requests: `target`, or where it redirects to.
    public var creationURL: TransferURL { creation.current }

    /// The maximum content size of a request; `nil` for no limit.
    var appendSizeLimit: Int64?
    var limits = UploadLimits()
    /// The redirects since the last progress or failed attempt.
    var redirections = 0
    var triedDialects: Set<UploadWireFormat> = []
    /// Whether the last bytes of the content were sent: the target may have processed all of it.
    public internal(set) var mayBeComplete = false
    /// A success response that isn't flagged as the target's.
    var unflaggedResponse: UploadResult?
    /// The offset before a request that the server accepted; the next offset must be greater.
    var offsetToExceed: Int64?
    /// Whether the request only asks for the final response of a complete upload again.
    var isReplaying = false
    /// The resource in the journal.
    var persistedResource: UploadResource?

    /// Starts an upload, or resumes one that was created earlier.
    ///
    /// `mayBeComplete`: the earlier run had started to send the last bytes.
    public init(_ parameters: Parameters, resuming resource: UploadResource? = nil, mayBeComplete: Bool = false) {
        self.parameters = parameters
        self.mayBeComplete = mayBeComplete
        target = parameters.target
        creation = RedirectChain(parameters.target)
        persistedResource = resource
        phase = resource.map { .retrievingOffset($0) } ?? .creating(parameters.dialects.first)
        if case .creating(let dialect?) = phase { triedDialects.insert(dialect) }
    }

    /// The upload resource; `nil` before the server named it, and in a plain upload. After a failure the one that a later run
    /// can resume.
    public var resource: UploadResource? { continued ?? created }

    /// The resource of the next request; `nil` for a request to the target.
    private var continued: UploadResource? {
        switch phase {
        case .retrievingOffset(let resource), .appending(let resource, _): resource
        case .creating, .discovering, .reserving, .finished, .failed: nil
        }
    }

    /// The resource named by a 104 of the current creation, or kept after a failure.
    var created: UploadResource?

    /// The resource if the journal has another one or another expiry time: it must be journalled before the next
    /// request. `nil` if nothing relevant has changed.
    public mutating func resourceToPersist() -> UploadResource? {
        guard let resource, !isOver, !resource.isPersisted(as: persistedResource) else { return nil }
        persistedResource = resource
        return resource
    }

    /// The next step.
    public func nextStep() -> UploadStep {
        switch phase {
        case .creating(let dialect): return .send(.create(dialect))
        case .discovering(let dialect): return .send(.discoverLimits(dialect))
        case .reserving(let dialect): return .send(.reserve(dialect))
        case .retrievingOffset(let resource): return .send(.retrieveOffset(resource))
        case .appending(let resource, let from):
            let rest = parameters.length - from
            let count = min(rest, appendSizeLimit ?? rest)
            return .send(.append(resource, from: from, count: count, isLast: count == rest))
        case .finished(let result): return .finish(result)
        case .failed(let failure): return .fail(failure)
        }
    }

    private var isOver: Bool {
        switch phase {
        case .finished, .failed: true
        case .creating, .discovering, .reserving, .retrievingOffset, .appending: false
        }
    }

    /// The last bytes of the content are about to be sent: from now on the target may process the upload.
    public mutating func completionBegan() { mayBeComplete = true }

    /// The request of `plan` failed after `sent` content bytes were written.
    public mutating func attemptFailed(
        _ plan: UploadRequestPlan,
        sent: Int64,
        _ cause: TransientFailure
    ) -> UploadAction {
        retry(plan, sent: sent, after: nil, cause)
    }

    /// Retries a refused request with other credentials or at another URL.
    ///
    /// Called on the state before the refusal was decided on.
    ///
    /// - Parameter url: Replaces the target; `nil` keeps it.
    public mutating func retryAfterRefusal(with url: TransferURL?) {
        if let url { (target, creation) = (url, RedirectChain(parameters.target, to: url)) }
        if let resource { retrieveOffset(resource) }
    }

    /// Gives the upload up for good: the server's bytes are useless.
    public mutating func abandon() {
        if let resource { abandoned.append(resource) }
        created = nil
    }

    /// Marks an upload of an earlier run for deletion.
    public mutating func abandon(_ resource: UploadResource) { abandoned.append(resource) }

    /// Removes and returns the uploads to delete.
    public mutating func removeAbandoned() -> [UploadResource] {
        defer { abandoned = [] }
        return abandoned
    }

    /// Takes the next step after `plan` failed for now: retrieves the offset if the upload can be resumed.
    mutating func retry(
        _ plan: UploadRequestPlan,
        sent: Int64,
        after wait: Duration?,
        _ cause: TransientFailure
    ) -> UploadAction {
        redirections = 0
        offsetToExceed = nil
        if let resource {
            retrieveOffset(resource)
            return .retry(after: wait, cause)
        }
        // A request without content, or one that was never received, can't have been processed.
        guard case .create = plan, sent > 0 || parameters.length == 0, !parameters.isRepeatable, !cause.isUnprocessed
        else {
            return .retry(after: wait, cause)
        }
        return fail(.notRepeatable(cause))
    }

    /// Retrieves the offset next: where `redirects` have led, or at the resource's own URL, to which a temporary redirection
    /// leaves later requests (RFC 9110, sections 15.4.3 and 15.4.8).
    mutating func retrieveOffset(_ resource: UploadResource, along redirects: RedirectChain? = nil) {
        var resource = resource
        resource.redirects = redirects
        created = nil
        isReplaying = false
        phase = .retrievingOffset(resource)
    }

    /// Ends the upload without success.
    ///
    /// - Parameter isTargets: Whether a status may be the target's response, which ends the upload for good.
    mutating func fail(_ failure: TransferRefusal, isTargets: Bool = false) -> UploadAction {
        var failure = failure
        switch failure {
        // The upload can be resumed with other credentials, or once the server lets it.
        case .unauthorized: created = resource
        case .redirection(let status, _) where continued != nil,
            .status(let status) where !isTargets && continued != nil:
            created = continued
            failure = .uploadRefused(status: status)
        case .violation, .sizeRefused, .appendLimitTooSmall, .dialectRefused, .redirection: abandon()
        // The target has responded, or there is nothing left to delete.
        case .status, .uploadRefused, .otherProtocol, .respondedEarly, .notRepeatable, .outcomeUnknown,
            .tooManyRestarts, .ambiguousLength, .contentEncoding:
            created = nil
        }
        phase = .failed(failure)
        return .proceed
    }

    mutating func finish(_ result: UploadResult) -> UploadAction {
        created = nil
        phase = .finished(result)
        return .proceed
    }

    /// Restarts because the server no longer has the upload.
    mutating func restart(because cause: TransientFailure) -> UploadAction {
        let dialect = resource?.dialect
        created = nil
        if let unflaggedResponse { return finish(unflaggedResponse) }
        guard !mayBeComplete || parameters.isRepeatable else { return fail(.outcomeUnknown) }
        guard restarts < Self.maximumRestarts else { return fail(.tooManyRestarts(restarts)) }
        restarts += 1
        acknowledged = 0
        offsetToExceed = nil
        isReplaying = false
        creation = RedirectChain(parameters.target, to: target)
        phase = creationPhase(dialect)
        return .retryNow(cause)
    }

    /// The creation in `dialect`, without content if the content must be split.
    func creationPhase(_ dialect: UploadWireFormat?) -> Phase {
        guard let dialect, let appendSizeLimit, appendSizeLimit < parameters.length else { return .creating(dialect) }
        return .reserving(dialect)
    }
}

/// The dialects that an upload may use.
public enum UploadFormatChoice: Hashable, Sendable {
    /// The newest, then the one that the server names, then a plain upload.
    case automatic
    /// This one only.
    case only(UploadWireFormat)
    /// None: a plain upload.
    case none

    /// Whether an upload created in `dialect` may be resumed.
    public func allows(_ dialect: UploadWireFormat) -> Bool {
        switch self {
        case .automatic: true
        case .only(let only): only == dialect
        case .none: false
        }
    }

    var first: UploadWireFormat? {
        switch self {
        case .automatic: .newest
        case .only(let dialect): dialect
        case .none: nil
        }
    }
}
