import Units

/// Every byte arrives later: by `delay`, give or take what is drawn around it. The order of bytes is kept.
public struct Latency: Hashable, Sendable {
    /// How much later, in one direction. Zero or more; above zero with `logNormal`.
    public var delay: Duration
    /// How far a draw may lie from `delay` (uniform), or its standard deviation (the others). Zero or
    /// more; of no account with `quantiles`.
    public var jitter: Duration
    /// How draws are distributed around `delay`.
    public var distribution: Distribution
    /// How much a draw takes after the one before it: 0 is not at all, 1 is one draw for all bytes.
    public var correlation: Probability
    /// What no draw falls below. Zero or more.
    public var minimum: Duration
    /// Times at which more is added.
    public var spikes: Spikes?

    /// How draws are distributed.
    public enum Distribution: Hashable, Sendable {
        /// Evenly from `delay` − `jitter` to `delay` + `jitter`.
        case uniform
        /// The bell curve around `delay` with a standard deviation of `jitter`.
        case normal
        /// Pareto's of shape 3, with the mean `delay` and the standard deviation `jitter`: never below
        /// `delay` − 0.58 × `jitter`, and now and then far above.
        case pareto
        /// The log-normal one with the mean `delay` and the standard deviation `jitter`.
        case logNormal
        /// Equally spaced quantiles of what is added to `delay`, from the smallest to the largest, two or
        /// more, none below the one before; evenly between each two.
        case quantiles([Duration])
    }

    /// Times of the connection's life at which bytes are delayed by more.
    public struct Spikes: Hashable, Sendable {
        /// From the beginning of one to that of the next. The first begins at a drawn age.
        public var every: Duration
        /// How long one lasts: above zero, below `every`.
        public var duration: Duration
        /// What is added for the bytes that come meanwhile. Above zero.
        public var extra: Duration

        /// Makes spikes; each duration is above zero, `duration` is below `every`.
        public init(every: Duration, duration: Duration, extra: Duration) {
            self.every = every
            self.duration = duration
            self.extra = extra
        }
    }

    /// Makes a latency; all durations are zero or more.
    public init(
        delay: Duration,
        jitter: Duration = .zero,
        distribution: Distribution = .uniform,
        correlation: Probability = .never,
        minimum: Duration = .zero,
        spikes: Spikes? = nil
    ) {
        self.delay = delay
        self.jitter = jitter
        self.distribution = distribution
        self.correlation = correlation
        self.minimum = minimum
        self.spikes = spikes
    }
}
