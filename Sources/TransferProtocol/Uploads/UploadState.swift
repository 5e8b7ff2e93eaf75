import HTTPTypes

/// The decisions of an upload: which request comes next, and what each response means.
///
/// A value without a file, a socket or a clock. It calls an upload finished only when the server says that it has
/// all of the content, and never sends bytes to another offset than the server told last.
public struct UploadState: Hashable, Sendable {
    /// The facts of an upload that do not change.
    public struct Parameters: Hashable, Sendable {
        /// The URL of the target.
        public var target: DownloadURL
        /// The bytes of the representation, 0 to `UploadFields.largest`.
        public var length: Int64
        /// The dialects that may be used.
        public var dialects: UploadDialectChoice
        /// Whether the whole request may be sent twice: the method is idempotent, or the caller says so.
        public var isRepeatable: Bool

        /// Makes a parameters.
        public init(target: DownloadURL, length: Int64, dialects: UploadDialectChoice, isRepeatable: Bool) {
            self.target = target
            self.length = length
            self.dialects = dialects
            self.isRepeatable = isRepeatable
        }
    }

    /// The stage that an upload has reached.
    public enum Phase: Hashable, Sendable {
        /// The next request makes the upload, in this dialect or as an ordinary one.
        case creating(UploadDialect?)
        /// The next request asks for the limits of the target.
        case discovering(UploadDialect)
        /// The next request makes the upload without content.
        case reserving(UploadDialect)
        /// The next request asks for the offset.
        case asking(UploadResource)
        /// The next request appends from this offset, which the server has just told.
        case appending(UploadResource, from: Int64)
        /// The server has all of the content.
        case finished(UploadResult)
        /// No further request makes sense.
        case failed(UploadFailure)
    }

    /// The most times that an upload starts anew because the server has lost it: 10.
    public static let mostRestarts = 10
    /// The most redirections that are followed, over all requests: 10.
    public static let mostRedirections = 10
    /// Requests aren't made smaller than this unless the server says so: 64 KiB.
    public static let smallestGuess: Int64 = 64 << 10
    /// The smallest `max-append-size` that an upload is worth: 1 KiB.
    public static let smallestAppendLimit: Int64 = 1 << 10

    /// The facts that do not change.
    public let parameters: Parameters
    /// The stage that the upload has reached.
    public internal(set) var phase: Phase
    /// The bytes that the server has promised to have.
    public internal(set) var acknowledged: Int64 = 0
    /// How often the upload started anew.
    public internal(set) var restarts = 0
    /// Uploads that are no longer wanted; the server can be asked to forget them.
    public internal(set) var abandoned: [UploadResource] = []
    /// The URL that the caller names for creations: the target's, or one that took its place.
    public internal(set) var target: DownloadURL
    /// Where creations go: `target`, or where it redirects to.
    public internal(set) var creationURL: DownloadURL

    /// The most bytes of a request; `nil` for no limit.
    var pieceLimit: Int64?
    var limits = UploadLimits()
    var redirections = 0
    var triedDialects: Set<UploadDialect> = []
    /// Set once the last bytes of the content were sent: the target may have processed all of it.
    public internal(set) var mayBeComplete = false
    /// A good response that doesn't say whether it is the target's.
    var unflaggedAnswer: UploadResult?
    /// The offset before a request that the server took in order; the next offset has to be beyond it.
    var offsetToPass: Int64?
    /// Whether the request is only to bring the response of a complete upload again.
    var isReplaying = false
    /// The resource that the journal has.
    var kept: UploadResource?

    /// Starts an upload, or continues one that an earlier run created.
    ///
    /// `mayBeComplete` tells that the earlier run had begun to send the last bytes.
    public init(_ parameters: Parameters, resuming resource: UploadResource? = nil, mayBeComplete: Bool = false) {
        self.parameters = parameters
        self.mayBeComplete = mayBeComplete
        target = parameters.target
        creationURL = parameters.target
        kept = resource
        phase = resource.map { .asking($0) } ?? .creating(parameters.dialects.first)
        if case .creating(let dialect?) = phase { triedDialects.insert(dialect) }
    }

    /// The resource of the upload; `nil` before the server told it, and in an ordinary upload.
    public var resource: UploadResource? {
        switch phase {
        case .asking(let resource), .appending(let resource, _): resource
        case .creating, .discovering, .reserving, .finished, .failed: created
        }
    }

    /// The resource that a 104 of the running creation told.
    var created: UploadResource?

    /// The resource when the journal has another one, or another time of its end: it is to be on the disk before the next
    /// request. `nil` when nothing has changed that a later run needs.
    public mutating func resourceToKeep() -> UploadResource? {
        guard let resource, !isOver, !resource.isKept(by: kept) else { return nil }
        kept = resource
        return resource
    }

    /// What to do next. `now` is the wall clock in seconds since 1970: an upload that has expired starts anew.
    public mutating func nextStep(now: Int64) -> UploadStep {
        if let resource, let expiresAt = resource.expiresAt, expiresAt <= now, !isOver {
            _ = startAnew(because: .uploadExpired)
        }
        switch phase {
        case .creating(let dialect): return .send(.create(dialect))
        case .discovering(let dialect): return .send(.discoverLimits(dialect))
        case .reserving(let dialect): return .send(.reserve(dialect))
        case .asking(let resource): return .send(.askOffset(resource))
        case .appending(let resource, let from):
            let rest = parameters.length - from
            let count = min(rest, pieceLimit ?? rest)
            return .send(.append(resource, from: from, count: count, isLast: count == rest))
        case .finished(let result): return .finish(result)
        case .failed(let failure): return .fail(failure)
        }
    }

    private var isOver: Bool {
        switch phase {
        case .finished, .failed: true
        case .creating, .discovering, .reserving, .asking, .appending: false
        }
    }

    /// The last bytes of the content are about to be sent: from now on the target may process the whole.
    public mutating func completionBegan() { mayBeComplete = true }

    /// The exchange of `plan` failed after `sent` bytes of its content were handed to the connection.
    public mutating func exchangeFailed(
        _ plan: UploadPlan,
        sent: Int64,
        _ setback: DownloadSetback
    ) -> UploadAction {
        retry(plan, sent: sent, after: nil, .transport(setback))
    }

    /// The caller has answered a refusal: the request before it is made again, with other credentials or at another URL.
    ///
    /// To be called on the state before the refusal was decided on.
    ///
    /// - Parameter url: Takes the place of the target; `nil` leaves it.
    public mutating func refusalAnswered(with url: DownloadURL?) {
        if let url { (target, creationURL) = (url, url) }
        if let resource { ask(resource) }
    }

    /// The upload is given up for good: what the server has is of no use.
    public mutating func abandon() {
        if let resource { abandoned.append(resource) }
        created = nil
    }

    /// Has the server be asked to forget an upload that an earlier run created.
    public mutating func abandon(_ resource: UploadResource) { abandoned.append(resource) }

    /// The uploads to be forgotten, each once.
    public mutating func takeAbandoned() -> [UploadResource] {
        defer { abandoned = [] }
        return abandoned
    }

    /// Takes the next step after `plan` failed for now: where the upload can be resumed, the offset comes first.
    mutating func retry(
        _ plan: UploadPlan,
        sent: Int64,
        after wait: Duration?,
        _ setback: UploadSetback
    ) -> UploadAction {
        offsetToPass = nil
        if let resource {
            ask(resource)
            return .retry(after: wait, setback)
        }
        // Without content nothing can have been processed; a request that nobody took can't either.
        guard case .create = plan, sent > 0 || parameters.length == 0, !parameters.isRepeatable, !setback.isUntouched
        else {
            return .retry(after: wait, setback)
        }
        return fail(.notRepeatable(setback))
    }

    mutating func ask(_ resource: UploadResource) {
        created = nil
        isReplaying = false
        phase = .asking(resource)
    }

    /// Ends the upload without success.
    mutating func fail(_ failure: UploadFailure) -> UploadAction {
        switch failure {
        case .violation, .sizeRefused, .appendLimitTooSmall, .redirection, .dialectRefused: abandon()
        // A run with other credentials goes on.
        case .accessRefused: created = resource
        // The target has answered, or there is nothing left to forget.
        case .refused, .answeredEarly, .notRepeatable, .outcomeUnknown, .tooManyRestarts: created = nil
        }
        phase = .failed(failure)
        return .proceed
    }

    mutating func finish(_ result: UploadResult) -> UploadAction {
        created = nil
        phase = .finished(result)
        return .proceed
    }

    /// The server doesn't have the upload any more.
    mutating func startAnew(because setback: UploadSetback) -> UploadAction {
        let dialect = resource?.dialect
        created = nil
        if let unflaggedAnswer { return finish(unflaggedAnswer) }
        guard !mayBeComplete || parameters.isRepeatable else { return fail(.outcomeUnknown) }
        guard restarts < Self.mostRestarts else { return fail(.tooManyRestarts(restarts)) }
        restarts += 1
        acknowledged = 0
        offsetToPass = nil
        isReplaying = false
        creationURL = target
        phase = creationPhase(dialect)
        return .askAgain(setback)
    }

    /// The creation in `dialect`: without content where the server takes only pieces of it.
    func creationPhase(_ dialect: UploadDialect?) -> Phase {
        guard let dialect, let pieceLimit, pieceLimit < parameters.length else { return .creating(dialect) }
        return .reserving(dialect)
    }
}

/// The dialects that an upload may use.
public enum UploadDialectChoice: Hashable, Sendable {
    /// The newest, then the one that the server names, then an ordinary upload.
    case automatic
    /// This one only.
    case only(UploadDialect)
    /// None: an ordinary upload.
    case none

    /// Whether an upload that was begun in `dialect` may go on.
    public func allows(_ dialect: UploadDialect) -> Bool {
        switch self {
        case .automatic: true
        case .only(let only): only == dialect
        case .none: false
        }
    }

    var first: UploadDialect? {
        switch self {
        case .automatic: .newest
        case .only(let dialect): dialect
        case .none: nil
        }
    }
}

extension UploadSetback {
    /// Whether the target can't have processed the request.
    var isUntouched: Bool {
        switch self {
        case .transport(.connectFailed), .transport(.unreachable), .transport(.connectTimedOut), .status(429),
            .status(503):
            true
        case .transport, .status, .noOffset, .noProgress, .uploadGone, .uploadExpired, .smallerRequests, .otherDialect:
            false
        }
    }
}
