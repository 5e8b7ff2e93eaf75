/// A rate of data in bits per second, always above zero where a profile is read.
public struct BitRate: Comparable, Hashable, Sendable {
    /// Bits per second.
    public var bitsPerSecond: Int64

    /// Makes a rate of `bitsPerSecond`.
    @inlinable
    public init(bitsPerSecond: Int64) {
        self.bitsPerSecond = bitsPerSecond
    }

    /// Makes a rate of `count` bytes per second.
    @inlinable
    public static func bytesPerSecond(_ count: Int64) -> BitRate { BitRate(bitsPerSecond: count * 8) }

    /// Whether `left` is the slower.
    @inlinable
    public static func < (left: BitRate, right: BitRate) -> Bool { left.bitsPerSecond < right.bitsPerSecond }

    /// The whole bytes that this rate carries in `nanoseconds`, rounded down; 0 for a negative time.
    /// Exact: the product is formed in 128 bits. Saturates at `Int64.max`.
    @inlinable
    public func bytes(inNanoseconds nanoseconds: Int64) -> Int64 {
        guard nanoseconds > 0, bitsPerSecond > 0 else { return 0 }
        let product = nanoseconds.magnitude.multipliedFullWidth(by: bitsPerSecond.magnitude)
        let divisor: UInt64 = 8_000_000_000
        // Most products have 64 bits, which are divided much faster.
        if product.high == 0 { return Int64(product.low / divisor) }
        guard product.high < divisor else { return .max }
        let quotient = divisor.dividingFullWidth((product.high, product.low)).quotient
        return quotient > UInt64(Int64.max) ? .max : Int64(quotient)
    }

    /// The nanoseconds that this rate needs for `bytes`, rounded up, so that they have certainly
    /// passed by then; 0 for no bytes. Saturates at `Int64.max`.
    @inlinable
    public func nanoseconds(forBytes bytes: Int64) -> Int64 {
        guard bytes > 0 else { return 0 }
        guard bitsPerSecond > 0 else { return .max }
        let product = bytes.magnitude.multipliedFullWidth(by: 8_000_000_000)
        let divisor = bitsPerSecond.magnitude
        guard product.high < divisor else { return .max }
        let (quotient, remainder) =
            product.high == 0
            ? product.low.quotientAndRemainder(dividingBy: divisor)
            : divisor.dividingFullWidth((product.high, product.low))
        let rounded = remainder == 0 ? quotient : quotient &+ 1
        return rounded > UInt64(Int64.max) ? .max : Int64(rounded)
    }
}
