/// Marks that wait for their bytes to arrive, and what has vanished before them.
///
/// Marks count the bytes of the source, stages those that are left. There are as many marks as whoever reads the bytes
/// finds before the link takes those, and none beyond.
struct MarkQueue {
    /// The bytes of the source that have vanished so far.
    private(set) var vanished: Int64 = 0
    private var marks: [Mark] = []
    private var head = 0
    /// What vanished of the bytes that have not arrived yet, in bytes of the source, in order and with something left
    /// between one and the next.
    private var gaps: [Range<Int64>] = []
    /// The first gap that the next mark doesn't lie behind, and what vanished in front of it.
    private var nextGap = 0
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
        } else if let last = gaps.last, last.upperBound == start {
            gaps[gaps.count - 1] = last.lowerBound..<start + count
        } else {
            gaps.append(start..<start + count)
        }
    }

    /// The next mark, with the offset that it has among the bytes that are left.
    mutating func next() -> Mark? {
        guard head < marks.count else {
            // One by one, as they mostly come: to replace what is in an array would count references.
            while marks.popLast() != nil {}
            while gaps.popLast() != nil {}
            (head, nextGap, vanishedBefore) = (0, 0, vanished)
            return nil
        }
        defer { head += 1 }
        if vanished == 0 { return marks[head] }
        passGaps(before: marks[head].offset)
        if let gap = firstGap(in: marks[head]) { split(at: gap) }
        return marks[head].moved(to: left(marks[head].offset))
    }

    /// Marks come in order, so no gap is looked at again that ends before one of them.
    private mutating func passGaps(before offset: Int64) {
        while nextGap < gaps.count, gaps[nextGap].upperBound <= offset {
            vanishedBefore += Int64(gaps[nextGap].count)
            nextGap += 1
        }
    }

    /// How many of `offset` bytes of the source are left.
    private func left(_ offset: Int64) -> Int64 {
        let begun = nextGap < gaps.count ? max(0, offset - gaps[nextGap].lowerBound) : 0
        return offset - vanishedBefore - begun
    }

    /// What vanished first of the content that a mark tells of.
    private func firstGap(in mark: Mark) -> Range<Int64>? {
        guard case .body(_, let start, let count) = mark, nextGap < gaps.count else { return nil }
        return gaps[nextGap].lowerBound < start.addingSaturated(count) ? gaps[nextGap] : nil
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
