import Units

/// A token bucket that limits the rate of a transfer.
///
/// It starts empty with the first bytes, fills at the rate, and accumulates up to `burst`. Over any interval it admits
/// at most rate times time, plus `burst`, plus one chunk.
public struct RateLimiter: Hashable, Sendable {
    /// The rate; at least 1 bit per second.
    public let rate: BitRate
    /// The bucket's capacity: the bytes of a tenth of a second, at least 64 KiB.
    public let burst: ByteCount
    /// When the bucket has refilled for everything admitted; `nil` before the first bytes.
    private var refilledAt: Moment?

    /// The minimum capacity.
    static let minimumBurst: Int64 = 64 << 10
    /// The bounds of a chunk: 1 KiB and 256 KiB.
    static let chunkBounds: ClosedRange<Int64> = 1 << 10...256 << 10

    /// Makes an empty bucket. A rate below 1 bit per second is raised to it.
    public init(rate: BitRate) {
        self.rate = max(rate, BitRate(bitsPerSecond: 1))
        burst = ByteCount(max(Self.minimumBurst, self.rate.bytes(inNanoseconds: 100_000_000)))
    }

    /// The chunk size for an even flow: the bytes of 20 ms, within 1 KiB to 256 KiB.
    public var chunkLength: Int {
        let bytes = rate.bytes(inNanoseconds: 20_000_000)
        return Int(min(max(bytes, Self.chunkBounds.lowerBound), Self.chunkBounds.upperBound))
    }

    /// Takes `bytes` from the bucket and returns the delay before the next bytes may be admitted.
    public mutating func admit(_ bytes: Int, at now: Moment) -> Duration {
        let saved = rate.nanoseconds(forBytes: burst.bytes)
        let start = max(refilledAt ?? now, now.advanced(byNanoseconds: -saved))
        let end = start.advanced(byNanoseconds: rate.nanoseconds(forBytes: Int64(bytes)))
        refilledAt = end
        return max(.zero, end - now)
    }
}
