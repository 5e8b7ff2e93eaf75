import Units

/// Every byte arrives later: by `delay`, give or take `jitter`. The order of bytes is kept.
public struct Latency: Hashable, Sendable {
    /// How much later, in one direction. Zero or more.
    public var delay: Duration
    /// How far a draw may lie from `delay` (uniform), or its standard deviation (normal). Zero or
    /// more; a draw below zero counts as zero.
    public var jitter: Duration
    /// How draws are distributed around `delay`.
    public var distribution: Distribution

    /// How draws are distributed.
    public enum Distribution: String, Hashable, Sendable, CaseIterable {
        /// Evenly from `delay` − `jitter` to `delay` + `jitter`.
        case uniform
        /// The bell curve around `delay` with a standard deviation of `jitter`.
        case normal
    }

    /// Makes a latency; both durations are zero or more.
    public init(delay: Duration, jitter: Duration = .zero, distribution: Distribution = .uniform) {
        self.delay = delay
        self.jitter = jitter
        self.distribution = distribution
    }
}
