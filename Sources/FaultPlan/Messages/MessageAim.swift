import FaultProfile
import Units

/// Finds the position at which a fault acts in each message that it selects.
struct MessageAim {
    /// The rule for the position.
    enum Rule {
        case at(Int64)
        /// The next multiple after the start of the message's part of the resource.
        case every(Int64)
        /// Drawn for each message.
        case between(Int64, Int64)
    }

    /// A position to act at.
    struct Target: Hashable {
        /// The position in the stream.
        var position: Int64
        /// The offset in the fault's base.
        var offset: Int64
        let place: MessagePlace
    }

    /// What the position refers to.
    enum Subject {
        /// The gap after the offset: everything before it passes.
        case gap
        /// The byte at the offset.
        case byte
    }

    private let base: OffsetBase
    private let rule: Rule
    private let subject: Subject
    private let filter: MessageFilter
    /// The current message, if selected: its number, the start of its content in the fault's base, and the wanted offset.
    private var current: (request: Int64, start: Int64, wanted: Int64)?

    /// Whether a position is that of a byte, which an end has none of.
    var isOfByte: Bool { subject == .byte }

    init(_ base: OffsetBase, _ rule: Rule, _ subject: Subject, _ filter: MessageFilter) {
        self.base = base
        self.rule = rule
        self.subject = subject
        self.filter = filter
    }

    /// The target that a mark yields. A target from a message's head may lie after the message's end.
    mutating func note(_ mark: Mark) -> Target? {
        switch mark {
        case .message(let message, let position):
            begin(message)
            guard base == .message, let current else { return nil }
            return target(position.addingSaturated(current.wanted), current)
        case .body(let offset, let position, let count):
            guard base != .message, let current else { return nil }
            let first = current.start.addingSaturated(offset)
            guard holds(current.wanted, first: first, count: count, isStart: offset == 0) else { return nil }
            // A message has one target.
            self.current = nil
            return target(position + (current.wanted - first), current)
        case .end, .unreadable:
            current = nil
            return nil
        case .pattern:
            return nil
        }
    }

    private func target(_ position: Int64, _ current: (request: Int64, start: Int64, wanted: Int64)) -> Target {
        let place = MessagePlace(base: base, request: current.request)
        return Target(position: position, offset: current.wanted, place: place)
    }

    private mutating func begin(_ message: Message) {
        current = nil
        let start = base == .resource ? message.resourceStart : 0
        guard let start, filter.selects(message) else { return }
        let wanted: Int64
        switch rule {
        case .at(let offset): wanted = offset
        case .every(let step): wanted = (start / step).addingSaturated(1).multipliedSaturated(by: step)
        case .between(let low, let high):
            wanted = filter.key.adding(UInt64(message.request)).draw(from: low, through: high)
        }
        current = (message.request, start, wanted)
    }

    /// Whether the wanted position is among `count` bytes from `first` on. A gap at the start of a transferred range has
    /// been passed by the request before it, except at offset 0.
    private func holds(_ wanted: Int64, first: Int64, count: Int64, isStart: Bool) -> Bool {
        let end = first.addingSaturated(count)
        return switch subject {
        case .byte: wanted >= first && wanted < end
        case .gap: wanted > first && wanted <= end || wanted == 0 && first == 0 && isStart
        }
    }
}

extension Int64 {
    /// The product of two positive numbers, or on overflow `max - 1`, because `max` means none.
    func multipliedSaturated(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max - 1 : product
    }
}
