import Units

/// No more than a rate passes, from the first byte on.
public struct Bandwidth: Hashable, Sendable {
    /// The rate: that at the start, where it changes. Above zero.
    public var rate: BitRate
    /// What may pass at once after an idle time, and at the start. Zero is none: bytes leave at
    /// the rate from the first one.
    public var burst: ByteCount
    /// Who shares the rate.
    public var scope: Scope
    /// How the rate changes as time goes by.
    public var course: Course

    /// Who shares a rate. Each direction is apart.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// Each connection has the rate for itself.
        case connection
        /// All connections of a client's address to the proxy share it.
        case client
        /// All connections of the proxy share it (`"shared": true`).
        case proxy
        /// All connections of all proxies that run together share it.
        case global
    }

    /// How a rate changes: on the clock of the connection where each has the rate for itself, else on
    /// that of the proxy, or of the proxies.
    public enum Course: Hashable, Sendable {
        /// It doesn't.
        case steady
        /// Each step takes the place of the rate before it. One or more, each later than the one before
        /// it. After `repeats`, which is later than the last of them, it all starts over; `nil` is never.
        case steps([Step], repeats: Duration?)
        /// Evenly up from `rate` to `high`, which is above it, within half of a period, and evenly back;
        /// a period is above zero and at most `longestPeriod`.
        case wave(high: BitRate, period: Duration)
    }

    /// The longest period of a wave: 24 h.
    public static let longestPeriod = Duration.seconds(86_400)

    /// From a time on, another rate.
    public struct Step: Hashable, Sendable {
        /// When, counted from the start. Above zero.
        public var after: Duration
        /// The rate from then on. Above zero.
        public var rate: BitRate

        /// Makes a step.
        public init(after: Duration, rate: BitRate) {
            self.after = after
            self.rate = rate
        }
    }

    /// Makes a bandwidth; the rules of each part are stated at its property.
    public init(
        rate: BitRate,
        burst: ByteCount = .zero,
        scope: Scope = .connection,
        course: Course = .steady
    ) {
        self.rate = rate
        self.burst = burst
        self.scope = scope
        self.course = course
    }
}
