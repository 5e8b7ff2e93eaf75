/// Marks that wait for their bytes to arrive, and what has vanished before them.
///
/// Marks count the bytes of the source, stages those that are left. There are as many marks as the bytes of one read
/// have, and none beyond.
struct MarkQueue {
    /// The bytes of the source that have vanished so far.
    private(set) var vanished: Int64 = 0
    private var marks: [Mark] = []
    private var head = 0
    /// What vanished of the bytes that have not arrived yet, in bytes of the source.
    private var gaps: [Range<Int64>] = []

    /// Whether no mark waits, nor one that `next` has given out lately.
    var isEmpty: Bool { marks.isEmpty }

    mutating func append(_ mark: Mark) { marks.append(mark) }

    /// `count` bytes vanished behind `offset` bytes that are left.
    mutating func bytesVanished(_ count: Int64, at offset: Int64) {
        let start = offset + vanished
        vanished += count
        if !marks.isEmpty { gaps.append(start..<start + count) }
    }

    /// The next mark, with the offset that it has among the bytes that are left.
    mutating func next() -> Mark? {
        guard head < marks.count else {
            // One by one, as they mostly come: to replace what is in an array would count references.
            while marks.popLast() != nil {}
            while gaps.popLast() != nil {}
            head = 0
            return nil
        }
        defer { head += 1 }
        if vanished == 0 { return marks[head] }
        if let gap = firstGap(in: marks[head]) { split(at: gap) }
        return marks[head].moved(to: left(marks[head].offset))
    }

    /// How many of `offset` bytes of the source are left.
    private func left(_ offset: Int64) -> Int64 {
        let recent = gaps.reduce(0) { $0 + Int64($1.count) }
        return gaps.reduce(offset - (vanished - recent)) { $0 - max(0, min(offset, $1.upperBound) - $1.lowerBound) }
    }

    /// What vanished first of the content that a mark tells of.
    private func firstGap(in mark: Mark) -> Range<Int64>? {
        guard case .body(_, let start, let count) = mark else { return nil }
        return gaps.first { $0.lowerBound < start.addingSaturated(count) && $0.upperBound > start }
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
