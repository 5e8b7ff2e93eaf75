import Units

/// Limits on the number, frequency and duration of retries.
public struct RetryPolicy: Hashable, Sendable {
    /// The bound of the first backoff: 500 ms by default. It doubles with each consecutive failure.
    public var baseDelay: Duration = .milliseconds(500)
    /// The maximum bound of a backoff: 30 s by default.
    public var maximumDelay: Duration = .seconds(30)
    /// Consecutive attempts without progress before giving up: 10 by default; at least 1.
    public var maximumAttempts = 10
    /// The new bytes that earn one request: 1 KiB by default; at least 1. Requests that earn their cost follow each
    /// other immediately.
    public var bytesPerRequest = ByteCount.kibibytes(1)
    /// The requests per second allowed regardless of progress: 20 by default; at least 1.
    public var baselineRequestsPerSecond = 20
    /// The maximum number of saved-up requests: 100 by default; at least 1.
    public var requestBurst = 100
    /// The longest accepted `Retry-After`: 10 min by default. A longer one ends the transfer.
    public var maximumRetryAfter: Duration = .seconds(600)
    /// The time limit of the transfer, including backoff; `nil`, the default, for none.
    public var deadline: Duration?

    /// Makes the default policy.
    public init() {}
}

/// What to do after a failed attempt.
public enum RetryDecision: Hashable, Sendable {
    /// Retry after this delay, which may be zero; the rule explains it.
    case wait(Duration, RetryRule)
    /// Stop: the transfer failed for now and may be resumed later.
    case giveUp(RetryLimit)
}

/// The rule that determined a delay.
public enum RetryRule: Hashable, Sendable {
    /// The attempt brought this many new bytes: no delay.
    case progress(Int64)
    /// The next request is a different one: no delay.
    case differentRequest
    /// This many consecutive attempts without progress: exponential backoff with jitter.
    case backoff(attempts: Int)
    /// Received bytes are discarded for this many times: exponential backoff with jitter.
    case repeatedRestart(times: Int)
    /// Too many requests for too few bytes: limited to this many per second.
    case rateLimit(requestsPerSecond: Int)
    /// The server's `Retry-After`.
    case retryAfter
}

/// The limit that ended a transfer.
public enum RetryLimit: Hashable, Sendable {
    /// This many consecutive attempts without progress.
    case attempts(Int)
    /// The next attempt would start after the deadline.
    case deadline(Duration)
    /// The server asks for a longer delay than the policy allows.
    case retryAfter(Duration)
    /// The caller wants no further attempt.
    case caller
}

/// The delays between attempts: none after progress, else exponential backoff with full jitter.
///
/// - An attempt with a new byte resets the failure count and is followed by the next immediately.
/// - Otherwise the delay is uniform in 0...min(`maximumDelay`, `baseDelay` · 2ⁿ), where n is the number of consecutive
///   failures less one. An attempt that discards received bytes for the second time or later also waits, with n
///   counting earlier restarts; the caller bounds these.
/// - Requests are rate-limited by a token bucket that fills with time and with each `bytesPerRequest` new bytes.
/// - `Retry-After` is a lower bound.
public struct RetrySchedule: Sendable {
    private let policy: RetryPolicy
    /// The budget that a request costs, and the most that is saved up.
    private let cost: Duration
    private let mostCredit: Duration
    private let startedAt: Moment
    private var generator: SeededGenerator
    /// Consecutive attempts without progress.
    private var failures = 0
    /// The number of restarts, which discard received bytes.
    private var restarts = 0
    /// Whether a restart happened since the last failed attempt.
    private var hasRestarted = false
    /// The highest offset since the last restart.
    private var highestOffset: Int64
    /// `highestOffset` at the end of the previous attempt.
    private var mark: Int64
    /// The request budget as time; a request costs 1 s divided by `baselineRequestsPerSecond`.
    private var credit: Duration
    /// When `credit` was last updated.
    private var creditedAt: Moment

    /// Starts a schedule. `received` is the number of bytes received earlier.
    public init(policy: RetryPolicy, generator: SeededGenerator, startedAt: Moment, received: Int64 = 0) {
        self.policy = policy
        self.generator = generator
        self.startedAt = startedAt
        highestOffset = received
        mark = received
        cost = .seconds(1) / max(1, policy.baselineRequestsPerSecond)
        mostCredit = cost * max(1, policy.requestBurst)
        credit = mostCredit
        creditedAt = startedAt
    }

    /// The transfer has reached `offset`.
    public mutating func reached(_ offset: Int64) {
        highestOffset = max(highestOffset, offset)
    }

    /// The received bytes are discarded; all following bytes count as new.
    public mutating func restarted() {
        restarts += 1
        hasRestarted = true
        highestOffset = 0
        mark = 0
    }

    /// An attempt ended at `now` without completing the transfer.
    ///
    /// - Parameters:
    ///   - retryAfter: The server's minimum delay.
    ///   - isImmediate: The next request is a different one and needs no backoff. It still counts.
    ///   - startsOver: The next attempt discards the received bytes.
    public mutating func failed(
        at now: Moment,
        retryAfter: Duration? = nil,
        isImmediate: Bool = false,
        startsOver: Bool = false
    ) -> RetryDecision {
        let progress = highestOffset.subtractingSaturated(mark)
        mark = highestOffset
        failures = progress > 0 ? 0 : failures + 1
        let times = restarts + (startsOver ? 1 : 0)
        let isRepeating = startsOver || (hasRestarted && times > 1)
        hasRestarted = false
        pay(for: progress, at: now)
        if failures >= max(1, policy.maximumAttempts) { return .giveUp(.attempts(failures)) }
        if let retryAfter, retryAfter > policy.maximumRetryAfter { return .giveUp(.retryAfter(retryAfter)) }
        var (wait, rule): (Duration, RetryRule)
        if isRepeating, times > failures, !isImmediate {
            (wait, rule) = (draw(times - 1), .repeatedRestart(times: times))
        } else if progress > 0 {
            (wait, rule) = (.zero, .progress(progress))
        } else if isImmediate {
            (wait, rule) = (.zero, .differentRequest)
        } else {
            (wait, rule) = (draw(failures - 1), .backoff(attempts: failures))
        }
        if wait < .zero - credit { (wait, rule) = (.zero - credit, .rateLimit(requestsPerSecond: requestRate)) }
        if let retryAfter, retryAfter > wait { (wait, rule) = (retryAfter, .retryAfter) }
        if let deadline = policy.deadline, now - startedAt + wait >= deadline { return .giveUp(.deadline(deadline)) }
        return .wait(wait, rule)
    }

    /// The time left until the deadline at `now`, at least zero; `nil` without a deadline.
    public func remaining(at now: Moment) -> Duration? {
        policy.deadline.map { max(.zero, $0 - (now - startedAt)) }
    }

    private var requestRate: Int { max(1, policy.baselineRequestsPerSecond) }

    /// Credits elapsed time and new bytes, then charges the next request.
    private mutating func pay(for bytes: Int64, at now: Moment) {
        let share = Double(bytes) / Double(max(1, policy.bytesPerRequest.bytes))
        let earned = share >= Double(policy.requestBurst) ? mostCredit : cost * share
        let elapsed = min(mostCredit, max(.zero, now - creditedAt))
        creditedAt = max(creditedAt, now)
        credit = min(mostCredit, credit + elapsed + earned) - cost
    }

    private mutating func draw(_ doublings: Int) -> Duration {
        let base = max(0, policy.baseDelay.nanoseconds)
        let span = base.multipliedReportingOverflow(by: 1 << min(doublings, 40))
        let capped = min(span.overflow ? .max : span.partialValue, max(0, policy.maximumDelay.nanoseconds))
        return .nanoseconds(Int64(Double(capped) * generator.nextFraction()))
    }
}
