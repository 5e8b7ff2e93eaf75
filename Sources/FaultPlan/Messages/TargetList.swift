import DequeModule

/// The targets in a stream that haven't been passed, in order.
///
/// No more than messages in the link; each counts towards the link's memory (`Link.positionCost`).
struct TargetList {
    private var aim: MessageAim
    private var targets: Deque<MessageAim.Target> = []

    init(_ aim: MessageAim) {
        self.aim = aim
    }

    var count: Int { targets.count }

    var first: MessageAim.Target? { targets.first }

    mutating func note(_ mark: Mark) {
        switch mark {
        case .end(let end), .unreadable(let end, _):
            // The message was shorter than the offset, or unreadable from here.
            while let last = targets.last, last.position > end || last.position == end && aim.isOfByte {
                targets.removeLast()
            }
        case .message, .body, .pattern:
            break
        }
        if let target = aim.note(mark) { targets.append(target) }
    }

    /// Removes the first target, unless it is gone because it turned out to be behind its message's end.
    mutating func removeFirst() { _ = targets.popFirst() }

    mutating func removeAll(in range: Range<Int64>) { targets.removeAll { range.contains($0.position) } }

    mutating func pass(_ position: Int64) {
        while let first = targets.first, first.position < position { targets.removeFirst() }
    }
}
