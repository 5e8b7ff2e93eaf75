/// Targets in a stream that haven't been passed yet, in order.
///
/// There are no more than messages in the link, and they take their share of its memory (`Link.positionCost`).
struct TargetList {
    private var aim: MessageAim
    private var targets = Fifo<MessageAim.Target>()

    init(_ aim: MessageAim) {
        self.aim = aim
    }

    /// The targets that are remembered.
    var count: Int { targets.count }

    /// The first target.
    var first: MessageAim.Target? { targets.first }

    mutating func note(_ mark: Mark) {
        switch mark {
        case .end(let end), .unreadable(let end, _):
            // Of a message that was shorter than the offset, or couldn't be read that far.
            while let last = targets.last, last.position > end { targets.removeLast() }
        case .message, .body, .pattern:
            break
        }
        if let target = aim.note(mark) { targets.append(target) }
    }

    mutating func removeFirst() { targets.removeFirst() }

    /// Drops the targets that lie in `range`.
    mutating func removeAll(in range: Range<Int64>) { targets.removeAll { range.contains($0.position) } }

    /// Drops the targets that lie before `position`.
    mutating func pass(_ position: Int64) {
        while let first = targets.first, first.position < position { targets.removeFirst() }
    }
}
