import Units

/// How often, how soon and how long a transfer is tried again.
public struct RetryPolicy: Hashable, Sendable {
    /// The span of the first wait: 500 ms unless told otherwise. It doubles with each attempt in a row.
    public var baseDelay: Duration = .milliseconds(500)
    /// The longest span of a wait: 30 s unless told otherwise.
    public var longestDelay: Duration = .seconds(30)
    /// Consecutive attempts without a new byte before giving up: 10 unless told otherwise; at least 1.
    public var maximumAttempts = 10
    /// The new bytes that pay for a request: 1 KiB unless told otherwise; at least 1. Requests that bring as much follow
    /// each other at once.
    public var bytesPerRequest = ByteCount.kibibytes(1)
    /// The requests a second that no bytes need to pay for: 20 unless told otherwise; at least 1.
    public var freeRequestsPerSecond = 20
    /// The most requests that unused time and bytes pay for in advance: 100 unless told otherwise; at least 1.
    public var savedRequests = 100
    /// The longest `Retry-After` that is waited for: 10 min unless told otherwise. A longer one ends the transfer.
    public var longestRetryAfter: Duration = .seconds(600)
    /// How long the whole transfer may take, waits included; `nil`, the default, for as long as it needs.
    public var deadline: Duration?

    /// Makes the policy of the defaults.
    public init() {}
}

/// What to do after an attempt that failed.
public enum RetryDecision: Hashable, Sendable {
    /// Try again after this time, which may be zero, by this rule.
    case wait(Duration, RetryRule)
    /// Stop: it failed for now, and may be resumed later.
    case giveUp(RetryLimit)
}

/// The rule that decided how long the wait before an attempt is.
public enum RetryRule: Hashable, Sendable {
    /// The attempt brought this many new bytes: no wait.
    case progress(Int64)
    /// The next request asks for something else: no wait.
    case otherRequest
    /// This many attempts in a row brought no new byte: a random wait that doubles.
    case backOff(attempts: Int)
    /// Received bytes are thrown away for this many times: a random wait that doubles.
    case startingOver(times: Int)
    /// Too many requests brought too few bytes: at most this many a second.
    case pace(requestsPerSecond: Int)
    /// The server's `Retry-After`.
    case retryAfter
}

/// Which limit of a policy ended a transfer.
public enum RetryLimit: Hashable, Sendable {
    /// This many attempts in a row brought no new byte.
    case attempts(Int)
    /// The next attempt would start after the deadline.
    case deadline(Duration)
    /// The server asks for a longer wait than the policy allows.
    case retryAfter(Duration)
}

/// The waits between attempts: none after progress, else exponential back-off with full jitter.
///
/// - An attempt that brought a new byte is followed by the next at once, and ends the row of attempts without progress.
/// - A wait after others is drawn evenly from zero to min(`longestDelay`, `baseDelay` · 2ⁿ), n being the attempts in a
///   row without progress, less one. An attempt that throws received bytes away for the second time or more waits as well,
///   with n from the times before; the caller bounds these.
/// - Requests are paced: each costs a token, paid for by `bytesPerRequest` new bytes or by time.
/// - The server's `Retry-After` is a lower bound.
public struct RetrySchedule: Sendable {
    private let policy: RetryPolicy
    private let startedAt: Moment
    private var generator: SeededGenerator
    /// Attempts in a row without a new byte.
    private var failures = 0
    /// How often received bytes were thrown away.
    private var restarts = 0
    /// Whether that happened since the last attempt failed.
    private var hasRestarted = false
    /// The farthest offset since the last restart.
    private var farthest: Int64
    /// The part of `farthest` that earlier attempts brought.
    private var mark: Int64
    /// The time that requests may still cost at once; a request costs a second divided by the free ones.
    private var credit: Duration
    /// When `credit` was brought up to date.
    private var creditedAt: Moment

    /// Starts a schedule. `held` are the bytes that the transfer starts with.
    public init(policy: RetryPolicy, generator: SeededGenerator, startedAt: Moment, held: Int64 = 0) {
        self.policy = policy
        self.generator = generator
        self.startedAt = startedAt
        farthest = held
        mark = held
        credit = RetrySchedule.cost(policy) * max(1, policy.savedRequests)
        creditedAt = startedAt
    }

    /// The transfer has got to `offset`.
    public mutating func reached(_ offset: Int64) {
        farthest = max(farthest, offset)
    }

    /// The received bytes are thrown away: those that come from now on are new, wherever they lie.
    public mutating func restarted() {
        restarts += 1
        hasRestarted = true
        farthest = 0
        mark = 0
    }

    /// An attempt ended at `now`, and the transfer isn't complete.
    ///
    /// - Parameters:
    ///   - retryAfter: The wait that the server asked for.
    ///   - isImmediate: The next attempt asks for something else and needs no wait. It counts all the same.
    ///   - startsOver: The next attempt throws away the received bytes.
    public mutating func failed(
        at now: Moment,
        retryAfter: Duration? = nil,
        isImmediate: Bool = false,
        startsOver: Bool = false
    ) -> RetryDecision {
        let progress = farthest.subtractingSaturated(mark)
        mark = farthest
        failures = progress > 0 ? 0 : failures + 1
        let times = restarts + (startsOver ? 1 : 0)
        let isRepeating = startsOver || (hasRestarted && times > 1)
        hasRestarted = false
        pay(for: progress, at: now)
        if failures >= max(1, policy.maximumAttempts) { return .giveUp(.attempts(failures)) }
        if let retryAfter, retryAfter > policy.longestRetryAfter { return .giveUp(.retryAfter(retryAfter)) }
        var (wait, rule): (Duration, RetryRule)
        if isRepeating, times > failures, !isImmediate {
            (wait, rule) = (draw(times - 1), .startingOver(times: times))
        } else if progress > 0 {
            (wait, rule) = (.zero, .progress(progress))
        } else if isImmediate {
            (wait, rule) = (.zero, .otherRequest)
        } else {
            (wait, rule) = (draw(failures - 1), .backOff(attempts: failures))
        }
        if wait < .zero - credit { (wait, rule) = (.zero - credit, .pace(requestsPerSecond: freeRequests)) }
        if let retryAfter, retryAfter > wait { (wait, rule) = (retryAfter, .retryAfter) }
        if let deadline = policy.deadline, now - startedAt + wait >= deadline { return .giveUp(.deadline(deadline)) }
        return .wait(wait, rule)
    }

    /// How much of the deadline is left at `now`, never below zero; `nil` without a deadline.
    public func remaining(at now: Moment) -> Duration? {
        policy.deadline.map { max(.zero, $0 - (now - startedAt)) }
    }

    private var freeRequests: Int { max(1, policy.freeRequestsPerSecond) }

    /// The time that a request costs.
    private static func cost(_ policy: RetryPolicy) -> Duration {
        .seconds(1) / max(1, policy.freeRequestsPerSecond)
    }

    /// Takes the cost of the next request from the credit, after the time and the new bytes have been added to it.
    private mutating func pay(for bytes: Int64, at now: Moment) {
        let cost = RetrySchedule.cost(policy)
        let most = cost * max(1, policy.savedRequests)
        let share = Double(bytes) / Double(max(1, policy.bytesPerRequest.bytes))
        let earned = share >= Double(policy.savedRequests) ? most : cost * share
        let elapsed = min(most, max(.zero, now - creditedAt))
        creditedAt = max(creditedAt, now)
        credit = min(most, credit + elapsed + earned) - cost
    }

    private mutating func draw(_ doublings: Int) -> Duration {
        let base = max(0, policy.baseDelay.nanoseconds)
        let span = base.multipliedReportingOverflow(by: 1 << min(doublings, 40))
        let capped = min(span.overflow ? .max : span.partialValue, max(0, policy.longestDelay.nanoseconds))
        return .nanoseconds(Int64(Double(capped) * generator.nextFraction()))
    }
}
