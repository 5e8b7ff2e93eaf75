import TransferProtocol
import Units

/// A transfer driven by an `AttemptLoop`: chooses its next request, sends it, and decides on the outcome.
protocol AttemptedTransfer: AnyObject {
    associatedtype Request: Sendable

    /// The bytes that needn't be transferred again: received by a download, or acknowledged by the server.
    var committed: Int64 { get }
    /// Whether the next request discards committed bytes.
    var startsOver: Bool { get }
    /// The host of the last request.
    var host: String { get }

    /// Decides on the next step.
    func nextStep() async throws(TransferError) -> AttemptStep<Request>
    /// Sends one request and decides on its response.
    func attempt(_ request: Request) async -> AttemptOutcome
    /// Called before the backoff before the next attempt, which may be zero.
    func willWait(_ delay: Duration, after cause: TransientFailure, by rule: RetryRule) async throws(TransferError)
    /// Replaces the credentials of all later requests.
    func use(_ credentials: RequestCredentials)
    /// Replaces the URL of all later requests.
    func use(_ url: TransferURL)
}

/// The next step of a transfer.
enum AttemptStep<Request: Sendable>: Sendable {
    /// Make a request.
    case attempt(Request)
    /// Decide again.
    case reconsider
    /// The transfer is complete.
    case finished(TransferSummary)
}

/// The outcome of an attempt.
enum AttemptOutcome: Sendable {
    /// Decide on the next step.
    case proceed
    /// Retry: immediately when the next request is a different one, and no sooner than `retryAfter`.
    case retryable(TransientFailure, retryAfter: Duration? = nil, isImmediate: Bool = false)
    /// The server refused. Fails unless the caller provides other credentials or another URL.
    case refused(AttemptRefusal, TransferRefusal)
    /// The transfer has failed.
    case failed(TransferError)
}

/// A response that refused a request, for which the caller may have credentials or another URL.
public struct AttemptRefusal: Sendable {
    /// The status of the refusal.
    public var status: Int
    /// The URL that was refused: the request's, or a redirect's.
    public var url: TransferURL
    /// The challenge of a 401 or 407.
    public var challenge: HTTPChallenge?
    /// Whether the request carried credentials.
    public var use: CredentialUse
    /// Whether the request went to the caller's origin, so that credentials may be sent.
    var isAtOrigin: Bool
    /// Whether the caller may replace the URL.
    var canMove = true
    /// The number of preceding refusals in a row: 0 to 2.
    public var previousRefusals = 0
}

/// Drives a transfer from attempt to attempt: schedules retries, enforces the deadline, and asks the caller for
/// credentials and URLs. The decisions are the transfer's.
///
/// Used by a single task, in order.
final class AttemptLoop {
    let startedAt: Moment
    let onEvent: @Sendable (TransferEvent) -> Void
    /// The rate limiter, if any.
    let pacer: TransferPacer?
    var counters = Counters()
    private let configuration: TransferClientConfiguration
    private let callbacks: TransferCallbacks
    private var schedule: RetrySchedule
    /// Consecutive refusals that the caller resolved, and the committed bytes at the first of them.
    private var resolvedRefusals = 0
    private var committedAtRefusal: Int64 = -1

    /// The maximum number of consecutive refusals without progress passed to the caller: 3.
    static let maximumRefusals = 3
    /// The maximum wait for the network before the next attempt: 30 s.
    static let maximumNetworkWait = Duration.seconds(30)

    /// The counters of a transfer, as in its summary.
    struct Counters {
        var connections = 0
        var resumptions = 0
        var restarts = 0
        var bytesRecovered: Int64 = 0
        var bytesTransferred: Int64 = 0
    }

    init(
        _ configuration: TransferClientConfiguration,
        _ callbacks: TransferCallbacks,
        seed: UInt64,
        startedAt: Moment,
        received: Int64 = 0,
        onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) {
        self.startedAt = startedAt
        self.onEvent = onEvent
        pacer = TransferPacer(configuration)
        self.configuration = configuration
        self.callbacks = callbacks
        schedule = RetrySchedule(
            policy: configuration.retry,
            generator: SeededGenerator(seed: seed),
            startedAt: startedAt,
            received: received
        )
    }

    /// The time left until the deadline; `nil` without one.
    var remaining: Duration? { schedule.remaining(at: configuration.clock.now()) }

    /// The transfer has reached `offset`.
    func reached(_ offset: Int64) { schedule.reached(offset) }

    /// Committed bytes were discarded.
    func restarted(_ reason: RestartReason) {
        counters.restarts += 1
        schedule.restarted()
        onEvent(.restarted(reason))
    }

    /// Committed bytes continue at `offset`.
    func resumed(at offset: Int64) {
        counters.resumptions += 1
        onEvent(.resumed(offset: offset))
    }

    /// Reports the end of a successful transfer, and returns its summary.
    func finish(_ bytes: Int64, _ sha256: [UInt8], _ details: TransferSummary.Details) -> TransferSummary {
        let summary = TransferSummary(
            bytes: bytes,
            sha256: sha256,
            connections: counters.connections,
            resumptions: counters.resumptions,
            restarts: counters.restarts,
            bytesRecovered: counters.bytesRecovered,
            bytesTransferred: counters.bytesTransferred,
            duration: configuration.clock.now() - startedAt,
            details: details
        )
        onEvent(.finished(summary))
        return summary
    }

    /// Runs until the transfer is complete or has failed.
    @_semantics("optimize.sil.specialize.generic.never")
    func run(_ transfer: some AttemptedTransfer) async throws(TransferError) -> TransferSummary {
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            switch try await transfer.nextStep() {
            case .finished(let summary): return summary
            case .reconsider: continue
            case .attempt(let request):
                let outcome = await transfer.attempt(request)
                schedule.reached(transfer.committed)
                try await proceed(after: outcome, of: transfer)
            }
        }
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private func proceed(
        after outcome: AttemptOutcome,
        of transfer: some AttemptedTransfer
    ) async throws(TransferError) {
        switch outcome {
        case .proceed: return
        case .failed(let failure): throw failure
        case .retryable(let cause, let retryAfter, let isImmediate):
            try await wait(transfer, after: cause, retryAfter: retryAfter, isImmediate: isImmediate)
        case .refused(let response, let refusal):
            guard try await isResolved(response, of: transfer) else { throw .refused(refusal) }
            try await wait(transfer, after: .status(response.status), isImmediate: true)
        }
    }

    /// Records a failed attempt and waits until the next is due.
    func wait(
        _ transfer: some AttemptedTransfer,
        after cause: TransientFailure,
        retryAfter: Duration? = nil,
        isImmediate: Bool = false
    ) async throws(TransferError) {
        guard !Task.isCancelled else { throw .cancelled }
        if cause.mayBeNetworkLoss, try await hasWaitedForNetwork(transfer, cause) { return }
        let decision = schedule.failed(
            at: configuration.clock.now(),
            retryAfter: retryAfter,
            isImmediate: isImmediate,
            startsOver: transfer.startsOver
        )
        switch decision {
        case .giveUp(let limit): throw .gaveUp(limit, cause)
        case .wait(let delay, let rule):
            if let mayRetry = callbacks.mayRetry, !mayRetry(cause, delay) { throw .gaveUp(.caller, cause) }
            try await transfer.willWait(delay, after: cause, by: rule)
            guard delay > .zero else { return }
            do {
                try await configuration.clock.sleep(delay)
            } catch {
                throw .cancelled
            }
        }
    }

    /// Waits for the network if the configuration has a monitor and it is down. Such an attempt doesn't count.
    @_semantics("optimize.sil.specialize.generic.never")
    private func hasWaitedForNetwork(
        _ transfer: some AttemptedTransfer,
        _ cause: TransientFailure
    ) async throws(TransferError) -> Bool {
        guard let network = configuration.connectivity, !network.isConnected(to: transfer.host) else { return false }
        onEvent(.waitingForNetwork)
        let limit = min(Self.maximumNetworkWait, remaining ?? Self.maximumNetworkWait)
        await network.waitUntilConnected(to: transfer.host, within: limit)
        guard !Task.isCancelled else { throw .cancelled }
        if let deadline = configuration.retry.deadline, remaining == .zero { throw .gaveUp(.deadline(deadline), cause) }
        return true
    }

    /// Passes a refusal to the caller; `false` if it can't be resolved.
    @_semantics("optimize.sil.specialize.generic.never")
    private func isResolved(
        _ refusal: AttemptRefusal,
        of transfer: some AttemptedTransfer
    ) async throws(TransferError) -> Bool {
        if transfer.committed != committedAtRefusal { (resolvedRefusals, committedAtRefusal) = (0, transfer.committed) }
        guard resolvedRefusals < Self.maximumRefusals else { return false }
        var refusal = refusal
        refusal.previousRefusals = resolvedRefusals
        resolvedRefusals += 1
        if let credentials = try await callbacks.credentials(for: refusal) {
            transfer.use(credentials)
        } else if let text = await callbacks.url(inPlaceOf: refusal) {
            transfer.use(try TransferURL(checked: text))
        } else {
            guard !Task.isCancelled else { throw .cancelled }
            return false
        }
        guard !Task.isCancelled else { throw .cancelled }
        return true
    }
}
