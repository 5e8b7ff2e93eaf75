import FaultProfile
import Units

/// Finds, in the messages that a fault acts on, the position at which it acts.
struct MessageAim {
    /// Which position it is.
    enum Rule {
        case at(Int64)
        /// The next multiple behind the start of the message's part of the resource.
        case every(Int64)
        /// Drawn for each message.
        case between(Int64, Int64)
    }

    /// A position to act at.
    struct Target: Hashable {
        /// In the stream.
        var position: Int64
        /// In what the fault counts.
        var offset: Int64
        let place: MessagePlace
    }

    /// What lies at the position.
    enum Subject {
        /// The gap behind so many bytes: everything before it passes.
        case gap
        /// The byte behind so many bytes.
        case byte
    }

    private let base: OffsetBase
    private let rule: Rule
    private let subject: Subject
    private let filter: MessageFilter
    /// The message that passes now, if it is picked: its number, where its content begins in what is counted, and
    /// what is wanted of it.
    private var current: (request: Int64, start: Int64, wanted: Int64)?

    init(_ base: OffsetBase, _ rule: Rule, _ subject: Subject, _ filter: MessageFilter) {
        self.base = base
        self.rule = rule
        self.subject = subject
        self.filter = filter
    }

    /// The target that a mark brings. One of a message's head may lie behind the message's end, as `end` will tell.
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

    /// Whether the wanted position is among `count` bytes from `first` on. A gap at the start of what is transferred was
    /// passed already by whoever asks for the rest from there, except where nothing was.
    private func holds(_ wanted: Int64, first: Int64, count: Int64, isStart: Bool) -> Bool {
        let end = first.addingSaturated(count)
        return switch subject {
        case .byte: wanted >= first && wanted < end
        case .gap: wanted > first && wanted <= end || wanted == 0 && first == 0 && isStart
        }
    }
}

extension Int64 {
    /// This positive number times a positive one, or the last position before `max`, which means nowhere.
    func multipliedSaturated(by factor: Int64) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max - 1 : product
    }
}
