import DequeModule
import FaultProfile
import Units

/// Selects the messages that a fault acts on.
///
/// A class, so that moving a stage copies one reference and not the texts of the condition.
final class MessageFilter: Sendable {
    /// `nil` selects every request and every final response.
    let condition: HTTPCondition?
    let key: RandomKey

    init(_ condition: HTTPCondition?, key: RandomKey) {
        self.condition = condition
        self.key = key.adding("request")
    }

    func selects(_ message: Message) -> Bool {
        guard let condition else { return !message.isInformational }
        if let status = condition.status {
            guard let code = message.status, status.range.contains(code) else { return false }
        } else if message.isInformational {
            return false
        }
        guard condition.requests.contains(UInt64(message.request)) else { return false }
        if let method = condition.method, method != message.method { return false }
        if let path = condition.path, !message.hasPath(like: path) { return false }
        for pattern in condition.fields {
            guard message.fields.contains(where: { $0.isNamed(pattern.name) && pattern.value.matches($0.value) })
            else { return false }
        }
        guard condition.chance < .always else { return true }
        return condition.chance.happens(key.fraction(at: message.request))
    }
}

/// The intervals of a stream in which a fault narrowed to messages is on.
///
/// Holds the intervals that haven't been passed: no more than messages in the link.
struct MessageGate {
    private let filter: MessageFilter
    /// The range of each selected message; the last may be open (`Int64.max`).
    private var intervals: Deque<Range<Int64>> = []

    init(_ filter: MessageFilter) {
        self.filter = filter
    }

    mutating func note(_ mark: Mark) {
        switch mark {
        case .message(let message, let start) where filter.selects(message):
            intervals.append(start..<Int64.max)
        case .end(let end):
            guard let last = intervals.last, last.upperBound == .max else { return }
            intervals[intervals.count - 1] = last.lowerBound..<max(end, last.lowerBound)
        case .unreadable(let end, _):
            note(.end(at: end))
        case .message, .body, .pattern:
            break
        }
    }

    var count: Int { intervals.count }

    /// Removes the intervals that end at or before `position`; returns where the last of them ended, `nil` if there are none.
    @discardableResult
    mutating func pass(_ position: Int64) -> Int64? {
        var end: Int64?
        while let first = intervals.first, first.upperBound <= position {
            end = first.upperBound
            intervals.removeFirst()
        }
        return end
    }

    /// Whether the byte at `position` belongs to a selected message, and where that changes next.
    mutating func state(at position: Int64) -> (isOn: Bool, until: Int64) {
        pass(position)
        guard let first = intervals.first else { return (false, .max) }
        return first.lowerBound <= position ? (true, first.upperBound) : (false, first.lowerBound)
    }
}
