import Glibc
import Units

/// The bytes of a stream that a chance acts, each by itself: a function of a key and their offsets alone.
///
/// The gaps between acted bytes are drawn from the geometric distribution, so nothing is done for the bytes between
/// them. The stream is taken in blocks of about 1,024 acted bytes, each of which begins with draws of its own. So a
/// fault that is off skips any number of bytes at the price of one block.
struct RandomOffsets {
    /// The acted bytes of a block, on average.
    private static let eventsOfBlock = 1_024.0

    private let key: RandomKey
    private let blockKey: RandomKey
    /// The natural logarithm of the chance that a byte stays as it is.
    private let logarithm: Double
    private let blockLength: Int64
    /// The number of the block that is drawn for, the key of its draws, and how many of them have been made.
    private var block: Int64 = 0
    private var drawKey: RandomKey
    private var drawn: Int64 = 0
    /// The offset of the next acted byte; `Int64.max` is none.
    private(set) var next: Int64 = 0
    /// The draws so far.
    private(set) var draws = 0

    /// The bytes that `rate` acts, which is above zero.
    init(_ rate: Probability, key: RandomKey) {
        self.key = key
        blockKey = key.adding("block")
        drawKey = key
        logarithm = log1p(-rate.fraction)
        blockLength = Int64(min(0x1p60, (Self.eventsOfBlock / rate.fraction).rounded(.up)))
        find(from: 0)
    }

    /// Goes on to the acted byte after `next`.
    mutating func advance() { find(from: next.addingSaturated(1)) }

    /// Goes on to the first acted byte at `offset` or after it.
    mutating func skip(to offset: Int64) {
        guard offset > next else { return }
        if offset / blockLength > block {
            begin(block: offset / blockLength)
            find(from: block * blockLength)
        }
        while next < offset { advance() }
    }

    /// Draws the first acted byte at `offset` or after it; what comes before has been drawn.
    private mutating func find(from offset: Int64) {
        var start = offset
        while start < .max {
            let end = (block + 1).multipliedSaturated(by: blockLength)
            guard end < .max - 1 else { break }
            let found = start.addingSaturated(start < end ? gap() : 0)
            if found < end {
                next = found
                return
            }
            start = max(end, start)
            begin(block: block + 1)
        }
        next = .max
    }

    private mutating func begin(block number: Int64) {
        block = number
        drawKey = blockKey.adding(UInt64(number))
        drawn = 0
    }

    /// The bytes that stay as they are before the next acted one.
    private mutating func gap() -> Int64 {
        defer { drawn += 1 }
        draws += 1
        guard logarithm > -.infinity else { return 0 }
        // Draws of gaps and of bits are told apart by their sign.
        let draw = 1 - drawKey.fraction(at: -1 - drawn)
        let gap = (log(draw) / logarithm).rounded(.down)
        return gap < 0x1p62 ? Int64(gap) : .max
    }
}
