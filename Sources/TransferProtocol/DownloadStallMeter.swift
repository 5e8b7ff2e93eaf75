import Units

/// When a body that still comes is given up as too slow.
public struct DownloadStallRule: Hashable, Sendable {
    /// The least bytes per second, on average over the window: 1 KiB/s unless told otherwise.
    public var minimumBytesPerSecond = ByteCount.kibibytes(1)
    /// The window: 15 s unless told otherwise.
    public var window: Duration = .seconds(15)

    /// Makes the rule of the defaults.
    public init() {}

    /// How often the meter is to be told the count: a fifth of the window, and at least a millisecond.
    public var tick: Duration { max(.milliseconds(1), window / DownloadStallMeter.slotCount) }

    /// The fewest bytes that a full window must bring; at least one.
    public var leastBytes: Int64 {
        let perSecond = Int128(max(0, minimumBytesPerSecond.bytes))
        let bytes = perSecond * Int128(max(0, window.nanoseconds)) / 1_000_000_000
        return Int64(clamping: max(1, bytes))
    }
}

/// A sliding window over the bytes that came while they were wanted.
public struct DownloadStallMeter: Sendable {
    static let slotCount = 5
    private let leastBytes: Int64
    private let longestPause: Duration
    private var slots: [Int64] = []

    /// Starts with an empty window.
    public init(rule: DownloadStallRule) {
        leastBytes = rule.leastBytes
        longestPause = rule.tick / 10
    }

    /// A tick has passed, and brought `bytes`; says whether the body has stalled.
    ///
    /// `pausedFor` is the time of the tick in which the transfer's own side wanted nothing. When that is a tenth of a tick
    /// or more, the window starts again: the other end can't be blamed. A shorter one is the time between two reads.
    public mutating func tick(bytes: Int64, pausedFor pause: Duration = .zero) -> Bool {
        guard pause < longestPause else {
            slots.removeAll()
            return false
        }
        slots.append(bytes)
        if slots.count > Self.slotCount { slots.removeFirst() }
        return slots.count == Self.slotCount && slots.reduce(0) { $0.addingSaturated($1) } < leastBytes
    }
}
