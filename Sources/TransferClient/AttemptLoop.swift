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
    /// Called before waiting for a route to the host.
    func willWaitForNetwork()
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

/// A response that refused a request.
struct AttemptRefusal: Sendable {
    var status: Int
    var url: TransferURL
    /// The challenge of a 401 or 407.
    var challenge: HTTPChallenge?
    var use: CredentialUse
    /// Whether the request went to the caller's origin, so that credentials may be sent.
    var isAtOrigin: Bool
    /// Whether the caller may replace the URL.
    var canMove = true
}

/// Drives a transfer from attempt to attempt: schedules retries, enforces the deadline, and asks the caller for
/// credentials and URLs. The decisions are the transfer's.
///
/// Used by a single task, in order.
final class AttemptLoop {
    private let clock: TransferClock
    private let callbacks: TransferCallbacks
    private let network: (any ConnectivityMonitor)?
    private let deadline: Duration?
    private var schedule: RetrySchedule
    /// Consecutive refusals that the caller resolved, and the committed bytes at the first of them.
    private var resolvedRefusals = 0
    private var committedAtRefusal: Int64 = -1

    /// The maximum number of consecutive refusals without progress passed to the caller: 3.
    static let maximumRefusals = 3
    /// The maximum wait for the network before the next attempt: 30 s.
    static let maximumNetworkWait = Duration.seconds(30)

    init(
        _ configuration: TransferClientConfiguration,
        _ callbacks: TransferCallbacks,
        seed: UInt64,
        startedAt: Moment,
        received: Int64 = 0
    ) {
        clock = configuration.clock
        self.callbacks = callbacks
        network = configuration.connectivity
        deadline = configuration.retry.deadline
        schedule = RetrySchedule(
            policy: configuration.retry,
            generator: SeededGenerator(seed: seed),
            startedAt: startedAt,
            received: received
        )
    }

    /// The time left until the deadline; `nil` without one.
    var remaining: Duration? { schedule.remaining(at: clock.now()) }

    /// The transfer has reached `offset`.
    func reached(_ offset: Int64) { schedule.reached(offset) }

    /// Committed bytes were discarded.
    func restarted() { schedule.restarted() }

    /// Runs until the transfer is complete or has failed.
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
            at: clock.now(),
            retryAfter: retryAfter,
            isImmediate: isImmediate,
            startsOver: transfer.startsOver
        )
        switch decision {
        case .giveUp(let limit): throw .gaveUp(limit, cause)
        case .wait(let delay, let rule):
            try await transfer.willWait(delay, after: cause, by: rule)
            guard delay > .zero else { return }
            do {
                try await clock.sleep(delay)
            } catch {
                throw .cancelled
            }
        }
    }

    /// Waits for the network if the configuration has a monitor and it is down. Such an attempt doesn't count.
    private func hasWaitedForNetwork(
        _ transfer: some AttemptedTransfer,
        _ cause: TransientFailure
    ) async throws(TransferError) -> Bool {
        guard let network, !network.isConnected(to: transfer.host) else { return false }
        transfer.willWaitForNetwork()
        let limit = min(Self.maximumNetworkWait, remaining ?? Self.maximumNetworkWait)
        await network.waitUntilConnected(to: transfer.host, within: limit)
        guard !Task.isCancelled else { throw .cancelled }
        if let deadline, remaining == .zero { throw .gaveUp(.deadline(deadline), cause) }
        return true
    }

    /// Passes a refusal to the caller; `false` if it can't be resolved.
    private func isResolved(
        _ refusal: AttemptRefusal,
        of transfer: some AttemptedTransfer
    ) async throws(TransferError) -> Bool {
        if transfer.committed != committedAtRefusal { (resolvedRefusals, committedAtRefusal) = (0, transfer.committed) }
        guard resolvedRefusals < Self.maximumRefusals else { return false }
        resolvedRefusals += 1
        if let credentials = await callbacks.credentials(for: refusal, previousRefusals: resolvedRefusals - 1) {
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
