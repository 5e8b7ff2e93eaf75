import Units

/// How often, how soon and how long a transfer is tried again.
public struct RetryPolicy: Hashable, Sendable {
    /// The span of the first wait: 500 ms unless told otherwise. It doubles with each attempt in a row.
    public var baseDelay: Duration = .milliseconds(500)
    /// The longest span of a wait: 30 s unless told otherwise.
    public var longestDelay: Duration = .seconds(30)
    /// So many attempts in a row without enough progress end the transfer: 10 unless told otherwise; at least 1.
    public var maximumAttempts = 10
    /// So many bytes beyond the farthest offset so far start the count of attempts again: 1 MiB unless told otherwise.
    public var progress = ByteCount.mebibytes(1)
    /// The longest `Retry-After` that is waited for: 10 min unless told otherwise. A longer one ends the transfer.
    public var longestRetryAfter: Duration = .seconds(600)
    /// How long the whole transfer may take, waits included; `nil`, the default, for as long as it needs.
    public var deadline: Duration?

    /// Makes the policy of the defaults.
    public init() {}
}

/// What to do after an attempt that failed.
public enum RetryDecision: Hashable, Sendable {
    /// Try again after this time, which may be zero.
    case wait(Duration)
    /// Stop: it failed for now, and may be resumed later.
    case giveUp(RetryLimit)
}

/// Which limit of a policy ended a transfer.
public enum RetryLimit: Hashable, Sendable {
    /// So many attempts in a row brought too little progress.
    case attempts(Int)
    /// The next attempt would start after the deadline.
    case deadline(Duration)
    /// The server asks for a longer wait than the policy allows.
    case retryAfter(Duration)
}

/// The waits between attempts: exponential back-off with full jitter.
///
/// A wait is drawn evenly from zero to min(`longestDelay`, `baseDelay` · 2ⁿ), n being the attempts in a row without
/// enough progress, less one. The server's `Retry-After` is a lower bound. Only bytes beyond the farthest offset that
/// was ever reached are progress, so a transfer that starts over again and again comes to an end.
public struct RetrySchedule: Sendable {
    private let policy: RetryPolicy
    private let startedAt: Moment
    private var generator: SeededGenerator
    private var failures = 0
    private var farthest: Int64
    private var mark: Int64

    /// Starts a schedule. `held` are the bytes that the transfer starts with.
    public init(policy: RetryPolicy, generator: SeededGenerator, startedAt: Moment, held: Int64 = 0) {
        self.policy = policy
        self.generator = generator
        self.startedAt = startedAt
        farthest = held
        mark = held
    }

    /// The transfer has got to `offset`.
    public mutating func reached(_ offset: Int64) {
        farthest = max(farthest, offset)
        if farthest.subtractingSaturated(mark) >= policy.progress.bytes {
            mark = farthest
            failures = 0
        }
    }

    /// An attempt failed at `now`; `retryAfter` is what the server asked for. `isImmediate` tells that the next one
    /// asks for something else and needs no wait; it is counted all the same.
    public mutating func failed(at now: Moment, retryAfter: Duration? = nil, isImmediate: Bool = false) -> RetryDecision
    {
        failures += 1
        if failures >= max(1, policy.maximumAttempts) { return .giveUp(.attempts(failures)) }
        if let retryAfter, retryAfter > policy.longestRetryAfter { return .giveUp(.retryAfter(retryAfter)) }
        let jittered = isImmediate ? .zero : draw(failures - 1)
        let wait = max(retryAfter ?? .zero, jittered)
        if let deadline = policy.deadline, now - startedAt + wait >= deadline { return .giveUp(.deadline(deadline)) }
        return .wait(wait)
    }

    /// How much of the deadline is left at `now`, never below zero; `nil` without a deadline.
    public func remaining(at now: Moment) -> Duration? {
        policy.deadline.map { max(.zero, $0 - (now - startedAt)) }
    }

    private mutating func draw(_ doublings: Int) -> Duration {
        let base = max(0, policy.baseDelay.nanoseconds)
        let span = base.multipliedReportingOverflow(by: 1 << min(doublings, 40))
        let capped = min(span.overflow ? .max : span.partialValue, max(0, policy.longestDelay.nanoseconds))
        return .nanoseconds(Int64(Double(capped) * generator.nextFraction()))
    }
}
