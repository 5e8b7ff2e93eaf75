import FaultProfile
import Units

/// Removes bytes from a stream at an offset.
struct TruncateAlterer: StreamAlterer {
    static let drops = true

    private let bytes: Int64
    /// The offset at which bytes are removed; `Int64.max` when done.
    private var nextOffset: Int64
    private var remaining: Int64
    private var hasActed = false
    /// The positions in messages, if the offset counts in messages.
    private var targets: TargetList?

    init(_ truncate: Truncate, _ filter: MessageFilter) {
        bytes = truncate.bytes.bytes
        remaining = truncate.bytes.bytes
        nextOffset = truncate.at.bytes
        if truncate.base.countsMessages {
            targets = TargetList(MessageAim(truncate.base, .at(truncate.at.bytes), .byte, filter))
            nextOffset = .max
        }
    }

    mutating func note(_ mark: Mark) { targets?.note(mark) }

    func next(vanished: Int64) -> Int64 {
        guard let target = targets?.first else { return nextOffset }
        // Some of the bytes may have been removed already.
        return target.position.addingSaturated(bytes - remaining).subtractingSaturated(vanished)
    }

    /// Another fault removed these source bytes; they count for this one.
    mutating func vanished(_ range: Range<Int64>) {
        while let target = targets?.first {
            let begin = target.position + (bytes - remaining)
            guard range.contains(begin) else { return }
            remaining -= min(remaining, range.upperBound - begin)
            guard remaining == 0 else { return }
            finish()
        }
    }

    /// Removes as many of the `available` bytes as remain to be removed.
    mutating func alter(index: Int64, available: Int64) -> Altered {
        let count = min(remaining, available)
        let reported = hasActed ? nil : Altered.Effect(effect: .truncates, place: targets?.first)
        hasActed = true
        remaining -= count
        if remaining == 0 { finish() }
        return Altered(alteration: .drop(index: index, count: count), reported: reported)
    }

    mutating func miss() { finish() }

    /// Ends a truncation in a message that ended at `end`: the next message may be selected as well, and its bytes follow at
    /// once.
    mutating func messageEnded(at end: Int64) {
        guard targets != nil else {
            if remaining < bytes { finish() }
            return
        }
        while let target = targets?.first, target.position < end { finish() }
    }

    private mutating func finish() {
        nextOffset = .max
        guard targets != nil else { return }
        targets?.removeFirst()
        remaining = bytes
        hasActed = false
    }
}

extension Truncate: PlannedFault {
    func alterer(in place: StagePlace) -> Alterer? { .truncate(TruncateAlterer(self, place.filter)) }
}
