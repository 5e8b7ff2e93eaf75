import Units

/// The wait for one end to take the sent bytes before its socket is closed or reset, bounded by time and bytes.
///
/// An end that is busy sending may never come to receive. Its bytes are received and discarded meanwhile, as the kernel of
/// a peer that has closed does.
public struct Linger: Hashable, Sendable {
    /// The event that the proxy waits for.
    public enum Goal: Hashable, Sendable, CaseIterable {
        /// The socket takes bytes again. The other end is gone, and bytes of it still wait for this one.
        case acceptance
        /// The end's kernel has acknowledged every byte. A reset discards what is not acknowledged.
        case acknowledgement
        /// The end has closed its side. A socket that is closed with unread bytes sends a reset (RFC 1122, 4.2.2.13).
        case closure
    }

    /// The answer to `verdict`.
    public enum Verdict: Hashable, Sendable {
        case wait
        /// The goal is reached, or the time or the bytes have run out.
        case done
    }

    /// The first pause between two looks at what is acknowledged, which nothing reports: 100 µs. The pause doubles.
    static let firstPause: Int64 = 100_000
    /// The longest pause: 20 ms.
    static let longestPause: Int64 = 20_000_000

    /// The event that the proxy waits for.
    public let goal: Goal
    private let grace: Duration
    private let discardLimit: Int
    /// The moment at which the time is over, unless the end takes something before.
    public private(set) var deadline: Moment
    /// The bytes that the end had not taken at the last look.
    private var remaining: Int
    private var discarded = 0
    private var pause = Linger.firstPause
    /// Whether the end's own stream has ended, or its connection is broken.
    public private(set) var hasPeerEnded = false

    /// Begins at `now`, with `remaining` bytes that the end has not taken.
    public init(_ goal: Goal, _ limits: DrainLimits, remaining: Int, at now: Moment) {
        self.goal = goal
        self.remaining = remaining
        switch goal {
        case .acceptance, .acknowledgement: (grace, discardLimit) = (limits.resetGrace, limits.resetDropLimit)
        case .closure: (grace, discardLimit) = (limits.closeGrace, limits.closeDropLimit)
        }
        deadline = now + grace
    }

    /// `count` bytes of the end were received and discarded.
    public mutating func discard(_ count: Int) { discarded += count }

    /// The end's stream has ended, or its connection is broken.
    public mutating func peerEnded() { hasPeerEnded = true }

    /// Decides at `now`, with `remaining` bytes that the end has not taken. For `closure` they don't count. Each byte that
    /// the end takes renews its time.
    public mutating func verdict(remaining: Int, at now: Moment) -> Verdict {
        if remaining < self.remaining {
            (deadline, discarded) = (now + grace, 0)
            self.remaining = remaining
        }
        if now >= deadline || discarded > discardLimit { return .done }
        switch goal {
        case .acceptance: return .wait
        case .acknowledgement: return remaining == 0 ? .done : .wait
        case .closure: return hasPeerEnded ? .done : .wait
        }
    }

    /// The moment of the next look, unless the socket becomes ready before.
    public mutating func nextLook(after now: Moment) -> Moment {
        guard goal == .acknowledgement else { return deadline }
        defer { pause = min(pause * 2, Linger.longestPause) }
        return min(deadline, now.advanced(byNanoseconds: pause))
    }

    /// Whether no look has been planned yet.
    public var isFirstLook: Bool { pause == Linger.firstPause }
}
