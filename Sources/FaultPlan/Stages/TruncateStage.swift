import FaultProfile
import Units

/// Bytes that vanish from a stream at an offset.
struct TruncateStage: AlteringStage {
    static let drops = true

    private let bytes: Int64
    /// The offset at which bytes vanish; `Int64.max` when all of them have.
    private var nextOffset: Int64
    private var remaining: Int64
    private var hasActed = false
    /// Where messages have it, if the offset counts in messages.
    private var targets: TargetList?

    init(_ truncate: Truncate, _ filter: MessageFilter) {
        bytes = truncate.bytes.bytes
        remaining = truncate.bytes.bytes
        nextOffset = truncate.at.bytes
        if truncate.base != .connection {
            targets = TargetList(MessageAim(truncate.base, .at(truncate.at.bytes), .byte, filter))
            nextOffset = .max
        }
    }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    /// The offset at which bytes vanish, when `vanished` bytes have vanished before; `Int64.max` is nowhere.
    func next(vanished: Int64) -> Int64 {
        guard let target = targets?.first else { return nextOffset }
        // Of those that vanish here some may have vanished already.
        return target.position + (bytes - remaining) - vanished
    }

    /// These bytes of the source have vanished by another fault, and needn't by this one.
    mutating func vanished(_ range: Range<Int64>) {
        while let target = targets?.first {
            let begin = target.position + (bytes - remaining)
            guard range.contains(begin) else { return }
            remaining -= min(remaining, range.upperBound - begin)
            guard remaining == 0 else { return }
            finish()
        }
    }

    /// As many of the `available` bytes vanish as have to.
    mutating func alter(index: Int64, available: Int64) -> Altered {
        let count = min(remaining, available)
        let told = hasActed ? nil : Altered.Effect(effect: .truncates, place: targets?.first)
        hasActed = true
        remaining -= count
        if remaining == 0 { finish() }
        return Altered(alteration: .drop(index: index, count: count), told: told)
    }

    /// The fault was off when its bytes came: it is over, or waits for the next message.
    mutating func miss() { finish() }

    private mutating func finish() {
        nextOffset = .max
        guard targets != nil else { return }
        targets?.removeFirst()
        remaining = bytes
        hasActed = false
    }
}

extension Truncate: PlannedFault {
    func alterer(in place: StagePlace) -> Alterer? { .truncate(TruncateStage(self, place.filter)) }
}
