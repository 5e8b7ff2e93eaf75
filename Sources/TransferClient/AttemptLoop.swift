import TransferProtocol
import Units

/// A transfer that an `AttemptLoop` drives: it names its next request, makes it, and tells what the outcome asks for.
protocol AttemptedTransfer: AnyObject {
    associatedtype Request: Sendable
    associatedtype Summary: Sendable
    associatedtype Setback: AttemptSetback
    associatedtype Failure: AttemptFailure where Failure.Setback == Setback

    /// The bytes that needn't be transferred again: held by a download, acknowledged to an upload.
    var committed: Int64 { get }
    /// Whether the next request throws committed bytes away.
    var startsOver: Bool { get }
    /// The host of the last request.
    var host: String { get }

    /// Decides what comes next.
    func nextStep() async throws(Failure) -> AttemptStep<Request, Summary>
    /// Makes one request, and decides on its response.
    func attempt(_ request: Request) async -> AttemptOutcome<Setback, Failure>
    /// Called before the wait that precedes the next attempt, which may be zero.
    func willWait(_ delay: Duration, after setback: Setback, by rule: RetryRule) async throws(Failure)
    /// Called before a wait for a route to the host.
    func willWaitForNetwork()
    /// Takes other credentials for all requests to come.
    func use(_ credentials: DownloadCredentials)
    /// Takes another URL for all requests to come.
    func use(_ url: DownloadURL)
}

/// The next step of a transfer.
enum AttemptStep<Request: Sendable, Summary: Sendable>: Sendable {
    /// Make a request.
    case attempt(Request)
    /// Decide again.
    case reconsider
    /// The transfer is complete.
    case finished(Summary)
}

/// The outcome of an attempt.
enum AttemptOutcome<Setback: Sendable, Failure: Error>: Sendable {
    /// Decide on the next step.
    case proceed
    /// Try again: at once where the next request asks for something else, and after `retryAfter` at the soonest.
    case failedForNow(Setback, retryAfter: Duration? = nil, isImmediate: Bool = false)
    /// The server refused. Other credentials or another URL may help; without them the transfer has failed.
    case refused(AttemptRefusal, Setback, Failure)
    /// The transfer has failed.
    case failed(Failure)
}

/// A reason for another attempt.
protocol AttemptSetback: Sendable {
    /// Whether a network that is away can be the reason.
    var mayBeOfNetwork: Bool { get }
}

/// A reason for the end of a transfer.
protocol AttemptFailure: Error {
    associatedtype Setback
    static var cancelled: Self { get }
    static func gaveUp(_ limit: RetryLimit, _ setback: Setback) -> Self
    static func invalidURL(_ url: String, _ problem: DownloadURLProblem) -> Self
}

/// A response that refused a request.
struct AttemptRefusal: Sendable {
    var status: Int
    var url: DownloadURL
    /// What a 401 or a 407 asks for.
    var challenge: DownloadChallenge?
    var use: CredentialUse
    /// Whether the server may be shown credentials that the caller gives for the URL of the request.
    var isAtOrigin: Bool
    /// Whether another URL can take the place of the one that refused.
    var canMove = true
}

/// Drives a transfer from attempt to attempt: counts them, waits between them, keeps the deadline, and asks the caller for
/// credentials and URLs. What is to be done is the transfer's decision.
///
/// Used by a single task, in order.
final class AttemptLoop {
    private let clock: TransferClock
    private let callbacks: TransferCallbacks
    private let network: (any ConnectivityMonitor)?
    private let deadline: Duration?
    private var schedule: RetrySchedule
    /// The refusals in a row that the caller had an answer to, and the committed bytes at the first of them.
    private var answered = 0
    private var committedAtRefusal: Int64 = -1

    /// The refusals in a row, without a new byte, that the caller is asked about: 3.
    static let mostRefusals = 3
    /// A network that seems to be away is tried after this time all the same: 30 s.
    static let longestNetworkWait = Duration.seconds(30)

    init(
        _ configuration: TransferClientConfiguration,
        _ callbacks: TransferCallbacks,
        seed: UInt64,
        startedAt: Moment,
        held: Int64 = 0
    ) {
        clock = configuration.clock
        self.callbacks = callbacks
        network = configuration.connectivity
        deadline = configuration.retry.deadline
        schedule = RetrySchedule(
            policy: configuration.retry,
            generator: SeededGenerator(seed: seed),
            startedAt: startedAt,
            held: held
        )
    }

    /// The time left until the deadline; `nil` without one.
    var remaining: Duration? { schedule.remaining(at: clock.now()) }

    /// The transfer has got to `offset`.
    func reached(_ offset: Int64) { schedule.reached(offset) }

    /// Committed bytes were thrown away.
    func restarted() { schedule.restarted() }

    /// Works until the transfer is complete, or until no further attempt makes sense.
    func run<Transfer: AttemptedTransfer>(
        _ transfer: Transfer
    ) async throws(Transfer.Failure) -> Transfer.Summary {
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

    private func proceed<Transfer: AttemptedTransfer>(
        after outcome: AttemptOutcome<Transfer.Setback, Transfer.Failure>,
        of transfer: Transfer
    ) async throws(Transfer.Failure) {
        switch outcome {
        case .proceed: return
        case .failed(let failure): throw failure
        case .failedForNow(let setback, let retryAfter, let isImmediate):
            try await wait(transfer, after: setback, retryAfter: retryAfter, isImmediate: isImmediate)
        case .refused(let refusal, let setback, let failure):
            guard try await isAnswered(refusal, of: transfer) else { throw failure }
            try await wait(transfer, after: setback, isImmediate: true)
        }
    }

    /// Counts a failed attempt, and waits until the next is due.
    func wait<Transfer: AttemptedTransfer>(
        _ transfer: Transfer,
        after setback: Transfer.Setback,
        retryAfter: Duration? = nil,
        isImmediate: Bool = false
    ) async throws(Transfer.Failure) {
        guard !Task.isCancelled else { throw .cancelled }
        if setback.mayBeOfNetwork, try await hasWaitedForNetwork(transfer, setback) { return }
        let decision = schedule.failed(
            at: clock.now(),
            retryAfter: retryAfter,
            isImmediate: isImmediate,
            startsOver: transfer.startsOver
        )
        switch decision {
        case .giveUp(let limit): throw .gaveUp(limit, setback)
        case .wait(let delay, let rule):
            try await transfer.willWait(delay, after: setback, by: rule)
            guard delay > .zero else { return }
            do {
                try await clock.sleep(delay)
            } catch {
                throw .cancelled
            }
        }
    }

    /// Waits for the network where the caller wants that and it is away. Such an attempt doesn't count.
    private func hasWaitedForNetwork<Transfer: AttemptedTransfer>(
        _ transfer: Transfer,
        _ setback: Transfer.Setback
    ) async throws(Transfer.Failure) -> Bool {
        guard let network, !network.isConnected(to: transfer.host) else { return false }
        transfer.willWaitForNetwork()
        let limit = min(Self.longestNetworkWait, remaining ?? Self.longestNetworkWait)
        await network.waitUntilConnected(to: transfer.host, within: limit)
        guard !Task.isCancelled else { throw .cancelled }
        if let deadline, remaining == .zero { throw .gaveUp(.deadline(deadline), setback) }
        return true
    }

    /// Asks the caller about a refusal; `false` where nothing can be done about it.
    private func isAnswered<Transfer: AttemptedTransfer>(
        _ refusal: AttemptRefusal,
        of transfer: Transfer
    ) async throws(Transfer.Failure) -> Bool {
        if transfer.committed != committedAtRefusal { (answered, committedAtRefusal) = (0, transfer.committed) }
        guard answered < Self.mostRefusals else { return false }
        answered += 1
        if let credentials = await callbacks.credentials(for: refusal, previousRefusals: answered - 1) {
            transfer.use(credentials)
        } else if let text = await callbacks.url(inPlaceOf: refusal) {
            do throws(DownloadURLProblem) {
                transfer.use(try DownloadURL(text))
            } catch {
                throw .invalidURL(text, error)
            }
        } else {
            return false
        }
        guard !Task.isCancelled else { throw .cancelled }
        return true
    }
}

extension DownloadSetback: AttemptSetback {
    var mayBeOfNetwork: Bool {
        switch self {
        case .unreachable, .connectTimedOut: true
        case .connectFailed, .connectionLost, .firstByteTimedOut, .stalled, .outOfTime, .malformedResponse, .status,
            .rejected,
            .bodyTooShort, .partOnly, .representationChanged, .differentURL, .completenessUnknown, .heldBytesDamaged:
            false
        }
    }
}

extension UploadSetback: AttemptSetback {
    var mayBeOfNetwork: Bool {
        switch self {
        case .transport(let setback): setback.mayBeOfNetwork
        case .status, .noOffset, .noProgress, .uploadGone, .uploadExpired, .smallerRequests, .otherDialect: false
        }
    }
}

extension DownloadError: AttemptFailure {}
extension UploadError: AttemptFailure {}
