import Units

/// A token bucket that holds the content of a transfer to a rate.
///
/// It starts empty with the first bytes, fills at the rate, and keeps what a wait left unused up to `burst`. So the bytes of any
/// time are at most those of the rate, `burst` and one piece.
public struct RateLimiter: Hashable, Sendable {
    /// The rate; at least 1 bit a second.
    public let rate: BitRate
    /// The bytes that are saved up at most: those of a tenth of a second, or 64 KiB where that is more.
    public let burst: ByteCount
    /// When the rate has paid for all that was admitted; `nil` before the first bytes.
    private var paidAt: Moment?

    /// The bytes that are saved up at any rate.
    static let leastBurst: Int64 = 64 << 10
    /// The bounds of a piece in bytes: 1 KiB and 256 KiB.
    static let pieceBounds: ClosedRange<Int64> = 1 << 10...256 << 10

    /// Makes an empty bucket. A rate below 1 bit a second counts as that.
    public init(rate: BitRate) {
        self.rate = max(rate, BitRate(bitsPerSecond: 1))
        burst = ByteCount(max(Self.leastBurst, self.rate.bytes(inNanoseconds: 100_000_000)))
    }

    /// The bytes to admit at a time, so that the flow is even: those of 20 ms, from 1 KiB to 256 KiB.
    public var pieceLength: Int {
        let bytes = rate.bytes(inNanoseconds: 20_000_000)
        return Int(min(max(bytes, Self.pieceBounds.lowerBound), Self.pieceBounds.upperBound))
    }

    /// Takes `bytes` out of the bucket, and returns how long they have to wait until the rate has paid for them.
    ///
    /// The next bytes are admitted after that wait.
    public mutating func admit(_ bytes: Int, at now: Moment) -> Duration {
        let saved = rate.nanoseconds(forBytes: burst.bytes)
        let start = max(paidAt ?? now, now.advanced(byNanoseconds: -saved))
        let end = start.advanced(byNanoseconds: rate.nanoseconds(forBytes: Int64(bytes)))
        paidAt = end
        return max(.zero, end - now)
    }
}
