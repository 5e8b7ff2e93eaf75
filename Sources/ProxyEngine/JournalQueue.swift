import EventLoop
import FaultPlan
import Synchronization
import Units

/// The lines of a journal as values: the loops add them, and the writer's thread encodes them.
final class JournalQueue: LineSource {
    /// The lines that wait to be encoded at most; beyond it lines are dropped and counted.
    static let limit = LineWriter.limit

    private struct State {
        var quota = JournalQuota()
        var lines: [JournalLine] = []
        var dropped = 0

        mutating func add(_ line: JournalLine) {
            if lines.count < JournalQueue.limit {
                lines.append(line)
            } else {
                dropped += 1
            }
        }
    }

    private let state = Mutex(State())
    private let encode: @Sendable (JournalLine) -> String

    /// An empty queue whose lines `encode` makes.
    init(encode: @escaping @Sendable (JournalLine) -> String) {
        self.encode = encode
    }

    /// Adds an entry if the quota takes it, after the omissions of the second before. Returns whether the queue was empty
    /// and isn't any more: then the writer is to take its lines.
    func add(_ entry: JournalEntry) -> Bool {
        adding { state in
            let (isTaken, omissions) = state.quota.take(entry)
            for omission in omissions { state.add(.omission(omission, entry.moment)) }
            if isTaken { state.add(.fault(entry)) }
        }
    }

    /// Adds a line that has no quota; returns the same.
    func add(_ line: JournalLine) -> Bool { adding { $0.add(line) } }

    /// Adds the omissions that haven't been added yet; returns the same, and the entries left out since the beginning.
    func addOmissions(at moment: Moment) -> (isFirst: Bool, count: Int) {
        var count = 0
        let isFirst = adding { state in
            for omission in state.quota.takeOmissions() { state.add(.omission(omission, moment)) }
            count = state.quota.omissions
        }
        return (isFirst, count)
    }

    private func adding(_ add: (inout State) -> Void) -> Bool {
        state.withLock { state in
            let wasEmpty = state.lines.isEmpty
            add(&state)
            return wasEmpty && !state.lines.isEmpty
        }
    }

    func takeLines(into text: inout String) -> (count: Int, dropped: Int) {
        let (lines, dropped) = take()
        for line in lines {
            text += encode(line)
            text += "\n"
        }
        return (lines.count, dropped)
    }

    func dropLines() -> Int {
        let (lines, dropped) = take()
        return lines.count + dropped
    }

    private func take() -> (lines: [JournalLine], dropped: Int) {
        state.withLock { state in
            defer { (state.lines, state.dropped) = ([], 0) }
            return (state.lines, state.dropped)
        }
    }
}
