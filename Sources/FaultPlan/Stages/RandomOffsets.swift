import Glibc
import Units

/// The offsets of a stream selected independently with a given chance: a function of a key alone.
///
/// The gaps are drawn from the geometric distribution, so the bytes between two offsets cost nothing. The stream is divided
/// into blocks of about 1,024 offsets with draws of their own, so that skipping any number of bytes costs one block at most.
struct RandomOffsets {
    /// The mean number of offsets in a block.
    private static let eventsOfBlock = 1_024.0

    private let key: RandomKey
    private let blockKey: RandomKey
    /// The natural logarithm of the chance that a byte isn't selected.
    private let logarithm: Double
    private let blockLength: Int64
    /// The current block, the key of its draws and their number so far.
    private var block: Int64 = 0
    private var drawKey: RandomKey
    private var drawn: Int64 = 0
    /// The next offset; `Int64.max` if none.
    private(set) var next: Int64 = 0
    /// The number of draws so far.
    private(set) var draws = 0

    /// Makes the offsets selected with the chance `rate`, above zero.
    init(_ rate: Probability, key: RandomKey) {
        self.key = key
        blockKey = key.adding("block")
        drawKey = key
        logarithm = log1p(-rate.fraction)
        blockLength = Int64(min(0x1p60, (Self.eventsOfBlock / rate.fraction).rounded(.up)))
        find(from: 0)
    }

    /// Advances `next` to the following offset.
    mutating func advance() { find(from: next.addingSaturated(1)) }

    /// Advances `next` to the first one at or after `offset`.
    mutating func skip(to offset: Int64) {
        guard offset > next else { return }
        if offset / blockLength > block {
            begin(block: offset / blockLength)
            find(from: block * blockLength)
        }
        while next < offset { advance() }
    }

    /// Draws the first selected offset at or after `offset`; earlier ones have been drawn.
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

    /// The number of bytes before the next selected one.
    private mutating func gap() -> Int64 {
        defer { drawn += 1 }
        draws += 1
        guard logarithm > -.infinity else { return 0 }
        // Negative positions, because draws of bits use the positive ones.
        let draw = 1 - drawKey.fraction(at: -1 - drawn)
        let gap = (log(draw) / logarithm).rounded(.down)
        return gap < 0x1p62 ? Int64(gap) : .max
    }
}
