import FaultProfile
import Units

/// Which bytes of a stream have a bit flipped, and which bit, by the seed and their offsets alone.
struct CorruptStage: AlteringStage {
    /// The events of a rate on one link that the journal is told of; those behind them happen in silence.
    static let toldLimit = 1_000

    /// The offset of the next acted byte; `Int64.max` is none.
    private var nextOffset: Int64
    /// Those of a rate; `nil` where only one byte is acted.
    private var rate: RandomOffsets?
    /// The offset before which the bytes of a rate were spared, and haven't been skipped yet.
    private var sparedEnd: Int64 = 0
    /// Where messages have it, if the offset counts in messages.
    private var targets: TargetList?
    private let key: RandomKey
    /// The fault events that the journal was told of.
    private var told = 0
    /// The bit that is flipped, where the profile says which.
    private let bit: Int?
    /// Whether there are no bytes, so that a fault event which the journal isn't told of needn't be found.
    private var isSimplified = false

    init(_ corrupt: Corrupt, _ filter: MessageFilter, key: RandomKey) {
        self.key = key
        bit = corrupt.bit
        if let rule = corrupt.position.messageRule, corrupt.base != .connection {
            targets = TargetList(MessageAim(corrupt.base, rule, .byte, filter))
            nextOffset = .max
            return
        }
        switch corrupt.position {
        case .at(let offset):
            nextOffset = offset.bytes
        case .between(let low, let high):
            nextOffset = key.draw(from: low.bytes, through: high.bytes)
        case .rate(let rate):
            let bytes = RandomOffsets(rate, key: key)
            nextOffset = bytes.next
            self.rate = bytes
        }
    }

    /// See `Link.simplify`.
    mutating func simplify() { isSimplified = true }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    /// The offset of the next acted byte, when `vanished` bytes have vanished before it; `Int64.max` is none.
    func next(vanished: Int64) -> Int64 {
        guard let targets else { return nextOffset }
        return targets.first.map { $0.position - vanished } ?? .max
    }

    /// These bytes of the source have vanished, and none of them is acted.
    mutating func vanished(_ range: Range<Int64>) { targets?.removeAll(in: range) }

    /// Whether bytes can be spared in any number, by `spare`.
    var hasRate: Bool { rate != nil }

    /// What it has worked out so far, see `Link.work`: a draw is a part of an answer.
    var work: Int { (rate?.draws ?? 0) / 4 }

    /// The bytes of a rate before `offset` pass while the fault is off.
    mutating func spare(before offset: Int64) { sparedEnd = max(sparedEnd, offset) }

    /// Skips the bytes that were spared, which `next` needs to be right.
    mutating func skipSpared() {
        guard sparedEnd > nextOffset, nextOffset < .max else { return }
        rate?.skip(to: sparedEnd)
        nextOffset = rate?.next ?? .max
    }

    /// The byte at `next` passed while the fault was off; those of a rate are spared.
    mutating func miss() {
        if targets == nil { nextOffset = .max } else { targets?.removeFirst() }
    }

    /// Flips a bit of the byte at `next`, and goes on to the byte behind it.
    mutating func alter(index: Int64, available: Int64) -> Altered {
        if let target = targets?.first {
            targets?.removeFirst()
            let effect = Altered.Effect(effect: .corrupts, place: target)
            return Altered(alteration: .flip(index: index, mask: mask(at: target.offset)), told: effect)
        }
        let mask = mask(at: nextOffset)
        let isTold = told < CorruptStage.toldLimit
        if isTold { told += 1 }
        goOn()
        let effect = isTold ? Altered.Effect(effect: .corrupts) : nil
        return Altered(alteration: .flip(index: index, mask: mask), told: effect)
    }

    /// Finds the next acted byte.
    private mutating func goOn() {
        let isLast = isSimplified && told >= CorruptStage.toldLimit
        if !isLast { rate?.advance() }
        nextOffset = isLast ? .max : rate?.next ?? .max
    }

    private func mask(at offset: Int64) -> UInt8 { 1 << UInt8(bit ?? CorruptStage.bit(at: offset, key)) }

    /// The bit that is flipped in the byte at an offset, from 0, the lowest, to 7, if the profile doesn't say which.
    static func bit(at offset: Int64, _ key: RandomKey) -> Int { Int(key.bits(at: offset) & 7) }
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

extension Corrupt: PlannedFault {
    func alterer(in place: StagePlace) -> Alterer? { .corrupt(CorruptStage(self, place.filter, key: place.key)) }
}
