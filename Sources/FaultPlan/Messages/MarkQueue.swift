/// Marks whose bytes haven't arrived, and the removals and insertions before them.
///
/// Marks count source bytes; stages count the bytes left after removals and insertions. The queue holds no more marks than
/// the reader finds in the bytes that it reads ahead of the link.
struct MarkQueue {
    /// A removal or an insertion in bytes that haven't arrived.
    private struct Change {
        /// The removed source bytes; empty for an insertion.
        var gap: Range<Int64>
        /// The bytes inserted at the gap's start.
        var inserted: Int64 = 0

        /// By how much the change shortens the stream.
        var vanished: Int64 { Int64(gap.count) - inserted }
    }

    /// Removed source bytes minus inserted bytes so far; may be negative.
    private(set) var vanished: Int64 = 0
    private var marks: [Mark] = []
    private var head = 0
    /// The changes in order; adjacent removals are merged.
    private var changes: [Change] = []
    /// The first change that isn't before the next mark, and what the earlier ones removed.
    private var nextChange = 0
    private var vanishedBefore: Int64 = 0

    /// Whether the queue holds no mark, including those that `next` has returned lately.
    var isEmpty: Bool { marks.isEmpty }

    var waiting: Int { marks.count - head }

    mutating func append(_ mark: Mark) { marks.append(mark) }

    /// Notes the removal of `count` bytes after `offset` remaining bytes.
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

    /// Notes the insertion of `count` bytes after `position` source bytes.
    mutating func bytesInserted(_ count: Int64, at position: Int64) {
        vanished -= count
        if marks.isEmpty {
            vanishedBefore = vanished
        } else {
            changes.append(Change(gap: position..<position, inserted: count))
        }
    }

    /// Notes the removal of `count` of the last inserted bytes.
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

    /// The next mark, with its offset in the remaining bytes.
    mutating func next() -> Mark? {
        guard head < marks.count else {
            // Removed one by one: replacing the array would count references.
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

    /// Skips the changes before a mark; marks come in order.
    private mutating func passChanges(before mark: Mark) {
        while nextChange < changes.count {
            let change = changes[nextChange]
            // An insertion lies after what ends at its position and before what begins there.
            let isPassed =
                change.gap.isEmpty && !mark.begins
                ? change.gap.upperBound < mark.offset : change.gap.upperBound <= mark.offset
            guard isPassed else { return }
            vanishedBefore += change.vanished
            nextChange += 1
        }
    }

    /// The offset in remaining bytes of a source offset.
    private func left(_ offset: Int64) -> Int64 {
        let begun = nextChange < changes.count ? max(0, offset - changes[nextChange].gap.lowerBound) : 0
        return offset - vanishedBefore - begun
    }

    private func firstGap(in mark: Mark) -> Range<Int64>? {
        guard case .body(_, let start, let count) = mark, nextChange < changes.count else { return nil }
        let gap = changes[nextChange].gap
        return gap.lowerBound < start.addingSaturated(count) ? gap : nil
    }

    /// Splits the next mark, of content, into the parts before and after a gap.
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
    /// Whether the mark starts something at its offset.
    fileprivate var begins: Bool {
        switch self {
        case .message, .body: true
        case .end, .unreadable, .pattern: false
        }
    }
}
