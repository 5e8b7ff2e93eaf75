import FaultProfile
import Glibc
import Units

/// Which bytes of a stream have a bit flipped, and which bit, by the seed and their offsets alone.
///
/// With a rate, the bytes between one struck byte and the next are drawn from the geometric distribution, the draws
/// numbered from the start of the stream; so nothing is done for the bytes that stay as they are.
struct CorruptStage {
    /// The strikes of a rate on one link that the journal is told of; those behind them happen in silence.
    static let toldLimit = 1_000

    /// The offset of the next struck byte; `Int64.max` is none.
    private var nextOffset: Int64
    /// Where messages have it, if the offset counts in messages.
    private var targets: TargetList?
    private let key: RandomKey
    /// The natural logarithm of the chance that a byte stays as it is; 0 where only one byte is struck.
    private let logarithm: Double
    /// The draws of a rate so far, and the strikes that the journal was told of.
    private var draws: Int64 = 0
    private var told = 0
    /// The bit that is flipped, where the profile says which.
    private let bit: Int?
    /// Whether there are no bytes, so that a strike which the journal isn't told of needn't be found.
    private var isSimplified = false

    init(_ corrupt: Corrupt, _ filter: MessageFilter, key: RandomKey) {
        self.key = key
        bit = corrupt.bit
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

    /// See `Link.simplify`.
    mutating func simplify() { isSimplified = true }

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
        if targets == nil { goOn() } else { targets?.removeFirst() }
    }

    /// The mask of the byte at `next`, whether the journal is told, and where in a message it was; goes on to the byte
    /// behind it.
    mutating func strike() -> (mask: UInt8, isTold: Bool, place: MessageAim.Target?) {
        if let target = targets?.first {
            targets?.removeFirst()
            return (mask(at: target.offset), true, target)
        }
        let mask = mask(at: nextOffset)
        let isTold = told < CorruptStage.toldLimit
        if isTold { told += 1 }
        goOn()
        return (mask, isTold, nil)
    }

    /// Finds the next struck byte; the draws are the same whether the fault was on or off.
    private mutating func goOn() {
        draws += 1
        let isLast = logarithm == 0 || isSimplified && told >= CorruptStage.toldLimit
        nextOffset = isLast ? .max : nextOffset.addingSaturated(1).addingSaturated(gap(draws))
    }

    private func mask(at offset: Int64) -> UInt8 { 1 << UInt8(bit ?? CorruptStage.bit(at: offset, key)) }

    /// The bit that is flipped in the byte at an offset, from 0, the lowest, to 7, if the profile doesn't say which.
    static func bit(at offset: Int64, _ key: RandomKey) -> Int { Int(key.bits(at: offset) & 7) }

    /// The bytes that stay as they are before the struck byte of this number, counted from 0.
    private func gap(_ number: Int64) -> Int64 {
        guard logarithm > -.infinity else { return 0 }
        // Draws of gaps and of masks are told apart by their sign.
        let draw = 1 - key.fraction(at: -1 - number)
        let gap = (log(draw) / logarithm).rounded(.down)
        return gap < 0x1p62 ? Int64(gap) : .max
    }
}

extension Corrupt {
    /// The bit that is flipped in the byte at `offset`, from 0, the lowest, to 7, if the profile doesn't say which.
    ///
    /// - Parameters:
    ///   - offset: where the byte is, counted as the journal counts it.
    ///   - fault: the name of the corruption.
    public static func drawnBit(
        at offset: Int64,
        of fault: String,
        connection: UInt64,
        direction: Direction,
        proxy: String,
        seed: UInt64
    ) -> Int {
        let key = RandomKey(seed: seed, proxy: proxy, connection: connection).adding(direction, fault)
        return CorruptStage.bit(at: offset, key)
    }
}

extension RandomKey {
    /// The key of what is drawn for a connection.
    init(seed: UInt64, proxy: String, connection: UInt64) {
        self = RandomKey(seed: seed).adding(proxy).adding(connection)
    }

    /// The key of what a fault draws for a direction of it.
    func adding(_ direction: Direction, _ fault: String) -> RandomKey { adding(direction.rawValue).adding(fault) }
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
