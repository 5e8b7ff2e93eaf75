/// Marks that wait for their bytes to arrive, and what has vanished or was put in before them.
///
/// Marks count the bytes of the source, stages those that are left and those that were put in. There are as many marks as whoever reads the bytes
/// finds before the link takes those, and none beyond.
struct MarkQueue {
    /// A change of the bytes that have not arrived yet.
    private struct Change {
        /// What vanished, in bytes of the source; empty where bytes were put in.
        var gap: Range<Int64>
        /// The bytes that were put in at the gap's start.
        var inserted: Int64 = 0

        /// By how much fewer bytes are left behind it.
        var vanished: Int64 { Int64(gap.count) - inserted }
    }

    /// The bytes of the source that have vanished so far, less those that were put in: may be negative.
    private(set) var vanished: Int64 = 0
    private var marks: [Mark] = []
    private var head = 0
    /// In order; between two gaps something is left or was put in.
    private var changes: [Change] = []
    /// The first change that the next mark doesn't lie behind, and what vanished in front of it.
    private var nextChange = 0
    private var vanishedBefore: Int64 = 0

    /// Whether no mark waits, nor one that `next` has given out lately.
    var isEmpty: Bool { marks.isEmpty }

    /// How many marks wait.
    var waiting: Int { marks.count - head }

    mutating func append(_ mark: Mark) { marks.append(mark) }

    /// `count` bytes vanished behind `offset` bytes that are left.
    mutating func bytesVanished(_ count: Int64, at offset: Int64) {
        let start = offset + vanished
        vanished += count
        if marks.isEmpty {
            vanishedBefore = vanished
        } else if let last = changes.last, last.inserted == 0, last.gap.upperBound == start {
            changes[changes.count - 1].gap = last.gap.lowerBound..<start + count
        } else {
            changes.append(Change(gap: start..<start + count))
        }
    }

    /// `count` bytes were put in behind `position` bytes of the source.
    mutating func bytesInserted(_ count: Int64, at position: Int64) {
        vanished -= count
        if marks.isEmpty {
            vanishedBefore = vanished
        } else {
            changes.append(Change(gap: position..<position, inserted: count))
        }
    }

    /// Of the bytes that were put in last, `count` vanished.
    mutating func insertedVanished(_ count: Int64) {
        vanished += count
        if marks.isEmpty {
            vanishedBefore = vanished
            return
        }
        var left = count
        for index in changes.indices.reversed() where left > 0 {
            let part = min(left, changes[index].inserted)
            changes[index].inserted -= part
            left -= part
        }
    }

    /// The next mark, with the offset that it has among the bytes that are left.
    mutating func next() -> Mark? {
        guard head < marks.count else {
            // One by one, as they mostly come: to replace what is in an array would count references.
            while marks.popLast() != nil {}
            while changes.popLast() != nil {}
            (head, nextChange, vanishedBefore) = (0, 0, vanished)
            return nil
        }
        defer { head += 1 }
        if vanishedBefore == 0, changes.isEmpty { return marks[head] }
        passChanges(before: marks[head])
        if let gap = firstGap(in: marks[head]) { split(at: gap) }
        return marks[head].moved(to: left(marks[head].offset))
    }

    /// Marks come in order, so no change is looked at again that ends before one of them.
    private mutating func passChanges(before mark: Mark) {
        while nextChange < changes.count {
            let change = changes[nextChange]
            // What was put in at a position lies behind what ends there, and in front of what begins.
            let isPassed =
                change.gap.isEmpty && !mark.begins
                ? change.gap.upperBound < mark.offset : change.gap.upperBound <= mark.offset
            guard isPassed else { return }
            vanishedBefore += change.vanished
            nextChange += 1
        }
    }

    /// How many of `offset` bytes of the source are left, with what was put in before them.
    private func left(_ offset: Int64) -> Int64 {
        let begun = nextChange < changes.count ? max(0, offset - changes[nextChange].gap.lowerBound) : 0
        return offset - vanishedBefore - begun
    }

    /// Where the content that a mark tells of was changed first.
    private func firstGap(in mark: Mark) -> Range<Int64>? {
        guard case .body(_, let start, let count) = mark, nextChange < changes.count else { return nil }
        let gap = changes[nextChange].gap
        return gap.lowerBound < start.addingSaturated(count) ? gap : nil
    }

    /// Makes two marks of the next one, which tells of content: of what is in front of a gap, and behind it.
    private mutating func split(at gap: Range<Int64>) {
        guard case .body(let offset, let start, let count) = marks[head] else { return }
        let before = max(0, gap.lowerBound - start)
        let after = start.addingSaturated(count).subtractingSaturated(gap.upperBound)
        marks[head] = .body(offset: offset, at: start, count: before)
        guard after > 0 else { return }
        let skipped = gap.upperBound - start
        marks.insert(.body(offset: offset + skipped, at: gap.upperBound, count: after), at: head + 1)
    }
}

extension Mark {
    /// Whether something begins behind its offset, and doesn't end there.
    fileprivate var begins: Bool {
        switch self {
        case .message, .body: true
        case .end, .unreadable, .pattern: false
        }
    }
}
