import Units

/// The minimum throughput of a response body.
public struct MinimumThroughput: Hashable, Sendable {
    /// The minimum average over the window, in bytes per second; 1 KiB/s by default.
    public var minimumBytesPerSecond = ByteCount.kibibytes(1)
    /// The averaging window; 15 s by default.
    public var window: Duration = .seconds(15)

    /// Makes the default rule.
    public init() {}

    /// The interval between samples: a fifth of the window, at least a millisecond.
    public var tick: Duration { max(.milliseconds(1), window / StallDetector.slotCount) }

    /// The minimum bytes in a full window; at least one.
    public var minimumBytes: Int64 {
        let perSecond = Int128(max(0, minimumBytesPerSecond.bytes))
        let bytes = perSecond * Int128(max(0, window.nanoseconds)) / 1_000_000_000
        return Int64(clamping: max(1, bytes))
    }
}

/// A sliding window over the bytes received while they were wanted.
public struct StallDetector: Sendable {
    static let slotCount = 5
    private let minimumBytes: Int64
    private let longestPause: Duration
    private var slots: [Int64] = []

    /// Starts with an empty window.
    public init(rule: MinimumThroughput) {
        minimumBytes = rule.minimumBytes
        longestPause = rule.tick / 10
    }

    /// Adds a sample of `bytes` for one interval; returns whether the body has stalled.
    ///
    /// `pausedFor` is the part of the interval in which the client itself wasn't reading. From a tenth of the interval
    /// on, the window restarts: the peer isn't to blame. A shorter pause is the gap between two reads.
    public mutating func tick(bytes: Int64, pausedFor pause: Duration = .zero) -> Bool {
        guard pause < longestPause else {
            slots.removeAll()
            return false
        }
        slots.append(bytes)
        if slots.count > Self.slotCount { slots.removeFirst() }
        return slots.count == Self.slotCount && slots.reduce(0) { $0.addingSaturated($1) } < minimumBytes
    }
}
