/// A small seeded generator of 64-bit numbers: SplitMix64.
///
/// The same seed gives the same numbers on every machine. Source: G. L. Steele, D. Lea and
/// C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Makes the generator of `seed`; any value is as good as another.
    public init(seed: UInt64) {
        state = seed
    }

    /// The next 64 bits.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return SeededGenerator.mixed(state)
    }

    /// The next draw, from 0 up to, but not including, 1, with 53 random bits.
    public mutating func nextFraction() -> Double {
        SeededGenerator.fraction(of: next())
    }

    /// The next `count` bytes: of each draw the lowest byte first. What is left of the last draw is dropped.
    package mutating func nextBytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 8)
        while bytes.count < count {
            var word = next()
            for _ in 0..<8 {
                bytes.append(UInt8(truncatingIfNeeded: word))
                word >>= 8
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// The finalizer of SplitMix64: a bijection in which every input bit moves every output bit.
    public static func mixed(_ value: UInt64) -> UInt64 {
        var z = value
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// A fraction from 0 up to, but not including, 1 out of the upper 53 bits of `bits`.
    public static func fraction(of bits: UInt64) -> Double {
        Double(bits >> 11) * 0x1p-53
    }
}

/// The key of a source of randomness: a seed and distinguishing values.
///
/// Each fault on each direction of each connection draws from its own key, so adding one fault
/// never moves another's draws. A draw can be tied to a position, so it doesn't depend on how many
/// draws were made before it.
public struct RandomKey: Hashable, Sendable {
    private var state: UInt64

    /// Starts a key at `seed`.
    public init(seed: UInt64) {
        state = SeededGenerator.mixed(seed &+ 0x9E37_79B9_7F4A_7C15)
    }

    /// This key, narrowed by a number.
    public func adding(_ number: UInt64) -> RandomKey {
        var key = self
        key.state = SeededGenerator.mixed((state ^ number) &+ 0x9E37_79B9_7F4A_7C15)
        return key
    }

    /// This key, narrowed by a name: its UTF-8 bytes, then their count.
    public func adding(_ name: String) -> RandomKey {
        var key = self
        var count: UInt64 = 0
        for byte in name.utf8 {
            key = key.adding(UInt64(byte))
            count += 1
        }
        return key.adding(count | 1 << 63)
    }

    /// 64 bits that depend on this key and `position` alone.
    public func bits(at position: Int64) -> UInt64 {
        adding(UInt64(bitPattern: position)).state
    }

    /// A whole number from `low` through `high`, evenly; the same at each call. `low` is 0 or more, and not above
    /// `high`.
    public func draw(from low: Int64, through high: Int64) -> Int64 {
        // A product of 64 × 64 bits spreads the draw evenly over the span, the ends included.
        let span = UInt64(high - low) + 1
        return low + Int64(bits(at: 0).multipliedFullWidth(by: span).high)
    }

    /// A fraction from 0 up to, but not including, 1, that depends on this key and `position` alone.
    public func fraction(at position: Int64) -> Double {
        SeededGenerator.fraction(of: bits(at: position))
    }
}
