import FaultProfile
import Glibc
import Units

/// Which bytes of a stream have a bit flipped, and which bit, by the seed and their offsets alone.
///
/// With a rate, the bytes between one struck byte and the next are drawn from the geometric distribution, the draws
/// numbered from the start of the stream; so nothing is done for the bytes that stay as they are.
struct CorruptStage {
    /// The strikes of one link that the journal is told of; those behind them happen in silence.
    static let toldLimit = 1_000

    /// The offset of the next struck byte; `Int64.max` is none.
    private(set) var next: Int64
    private let key: RandomKey
    /// The natural logarithm of the chance that a byte stays as it is; 0 where only one byte is struck.
    private let logarithm: Double
    private var strikes: Int64 = 0

    init(_ corrupt: Corrupt, key: RandomKey) {
        self.key = key
        switch corrupt.position {
        case .at(let offset):
            logarithm = 0
            next = offset.bytes
        case .between(let low, let high):
            logarithm = 0
            next = key.draw(from: low.bytes, through: high.bytes)
        case .rate(let rate):
            logarithm = log1p(-rate.fraction)
            next = 0
            next = gap(0)
        }
    }

    /// The mask of the byte at `next`, and whether the journal is told; goes on to the byte behind it.
    mutating func strike() -> (mask: UInt8, isTold: Bool) {
        let mask = UInt8(1) << UInt8(key.bits(at: next) & 7)
        strikes += 1
        if logarithm == 0 {
            next = .max
        } else {
            next = next.addingSaturated(1).addingSaturated(gap(strikes))
        }
        return (mask, strikes <= CorruptStage.toldLimit)
    }

    /// The bytes that stay as they are before the struck byte of this number, counted from 0.
    private func gap(_ number: Int64) -> Int64 {
        guard logarithm > -.infinity else { return 0 }
        // Draws of gaps and of masks are told apart by their sign.
        let draw = 1 - key.fraction(at: -1 - number)
        let gap = (log(draw) / logarithm).rounded(.down)
        return gap < 0x1p62 ? Int64(gap) : .max
    }
}
