import FaultProfile
import Units

/// Flips bits: which bytes and which bits depend on the seed and the offsets alone.
struct CorruptAlterer: StreamAlterer {
    /// The most flips of a rate on one link that are reported to the journal.
    static let reportLimit = 1_000

    /// The offset of the next byte to corrupt; `Int64.max` if none.
    private var nextOffset: Int64
    /// The bytes of a rate; `nil` for a single byte.
    private var rate: RandomOffsets?
    /// Bytes of a rate before this offset passed while the fault was off.
    private var sparedEnd: Int64 = 0
    /// The positions in messages, if the offset counts in messages.
    private var targets: TargetList?
    private let key: RandomKey
    private var reported = 0
    /// The bit to flip, if the profile gives it.
    private let bit: Int?
    /// Whether unreported flips needn't be found.
    private var isSimplified = false

    init(_ corrupt: Corrupt, _ filter: MessageFilter, key: RandomKey) {
        self.key = key
        bit = corrupt.bit
        if let rule = corrupt.position.messageRule, corrupt.base.countsMessages {
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

    mutating func simplify() { isSimplified = true }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    func next(vanished: Int64) -> Int64 {
        guard let targets else { return nextOffset }
        return targets.first.map { $0.position.subtractingSaturated(vanished) } ?? .max
    }

    mutating func vanished(_ range: Range<Int64>) { targets?.removeAll(in: range) }

    var hasRate: Bool { rate != nil }

    // A draw is a fraction of an answer.
    var work: Int { (rate?.draws ?? 0) / 4 }

    mutating func spare(before offset: Int64) { sparedEnd = max(sparedEnd, offset) }

    mutating func skipSuspended() {
        guard sparedEnd > nextOffset, nextOffset < .max else { return }
        rate?.skip(to: sparedEnd)
        nextOffset = rate?.next ?? .max
    }

    mutating func miss() {
        if targets == nil { nextOffset = .max } else { targets?.removeFirst() }
    }

    mutating func alter(index: Int64, available: Int64) -> Altered {
        if let target = targets?.first {
            targets?.removeFirst()
            let effect = Altered.Effect(effect: .corrupts, place: target)
            return Altered(alteration: .flip(index: index, mask: mask(at: target.offset)), reported: effect)
        }
        let mask = mask(at: nextOffset)
        let isReported = reported < CorruptAlterer.reportLimit
        if isReported { reported += 1 }
        findNext()
        let effect = isReported ? Altered.Effect(effect: .corrupts) : nil
        return Altered(alteration: .flip(index: index, mask: mask), reported: effect)
    }

    /// Finds the next byte to corrupt.
    private mutating func findNext() {
        let isLast = isSimplified && reported >= CorruptAlterer.reportLimit
        if !isLast { rate?.advance() }
        nextOffset = isLast ? .max : rate?.next ?? .max
    }

    private func mask(at offset: Int64) -> UInt8 { 1 << UInt8(bit ?? CorruptAlterer.bit(at: offset, key)) }

    /// The drawn bit of the byte at an offset, from 0, the lowest, to 7.
    static func bit(at offset: Int64, _ key: RandomKey) -> Int { Int(key.bits(at: offset) & 7) }
}

extension Corrupt {
    /// The drawn bit of the byte at `offset`, from 0, the lowest, to 7.
    ///
    /// - Parameters:
    ///   - offset: the byte's offset, as in the journal.
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
        return CorruptAlterer.bit(at: offset, key)
    }
}

extension RandomKey {
    init(seed: UInt64, proxy: String, connection: UInt64) {
        self = RandomKey(seed: seed).adding(proxy).adding(connection)
    }

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
    func alterer(in place: StagePlace) -> Alterer? { .corrupt(CorruptAlterer(self, place.filter, key: place.key)) }
}
