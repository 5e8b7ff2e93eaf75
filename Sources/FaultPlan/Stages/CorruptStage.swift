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
    private var nextOffset: Int64
    /// Where messages have it, if the offset counts in messages.
    private var targets: TargetList?
    private let key: RandomKey
    /// The natural logarithm of the chance that a byte stays as it is; 0 where only one byte is struck.
    private let logarithm: Double
    private var strikes: Int64 = 0

    init(_ corrupt: Corrupt, _ filter: MessageFilter, key: RandomKey) {
        self.key = key
        if let rule = corrupt.position.messageRule, corrupt.origin != .connection {
            targets = TargetList(MessageAim(corrupt.origin, rule, .byte, filter))
            logarithm = 0
            nextOffset = .max
            return
        }
        switch corrupt.position {
        case .at(let offset):
            logarithm = 0
            nextOffset = offset.bytes
        case .between(let low, let high):
            logarithm = 0
            nextOffset = key.draw(from: low.bytes, through: high.bytes)
        case .rate(let rate):
            logarithm = log1p(-rate.fraction)
            nextOffset = 0
            nextOffset = gap(0)
        }
    }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    /// The offset of the next struck byte, when `vanished` bytes have vanished before it; `Int64.max` is none.
    func next(vanished: Int64) -> Int64 {
        guard let targets else { return nextOffset }
        return targets.first.map { $0.position - vanished } ?? .max
    }

    /// These bytes of the source have vanished, and none of them is struck.
    mutating func vanished(_ range: Range<Int64>) { targets?.removeAll(in: range) }

    /// The byte at `next` passed while the fault was off.
    mutating func miss() {
        if targets == nil { _ = strike() } else { targets?.removeFirst() }
    }

    /// The mask of the byte at `next`, whether the journal is told, and where in a message it was; goes on to the byte
    /// behind it.
    mutating func strike() -> (mask: UInt8, isTold: Bool, place: MessageAim.Target?) {
        strikes += 1
        let isTold = strikes <= CorruptStage.toldLimit
        if let target = targets?.first {
            targets?.removeFirst()
            return (mask(at: target.offset), isTold, target)
        }
        let mask = mask(at: nextOffset)
        if logarithm == 0 {
            nextOffset = .max
        } else {
            nextOffset = nextOffset.addingSaturated(1).addingSaturated(gap(strikes))
        }
        return (mask, isTold, nil)
    }

    private func mask(at offset: Int64) -> UInt8 { UInt8(1) << UInt8(key.bits(at: offset) & 7) }

    /// The bytes that stay as they are before the struck byte of this number, counted from 0.
    private func gap(_ number: Int64) -> Int64 {
        guard logarithm > -.infinity else { return 0 }
        // Draws of gaps and of masks are told apart by their sign.
        let draw = 1 - key.fraction(at: -1 - number)
        let gap = (log(draw) / logarithm).rounded(.down)
        return gap < 0x1p62 ? Int64(gap) : .max
    }
}

extension Corrupt.Position {
    /// The position in a message; `nil` for a rate.
    fileprivate var messageRule: MessageAim.Rule? {
        switch self {
        case .at(let offset): .at(offset.bytes)
        case .between(let low, let high): .between(low.bytes, high.bytes)
        case .rate: nil
        }
    }
}
