import FaultPlan
import Journal
import OperatingSystem
import Synchronization
import Units

/// The lines of a journal before encoding: the loops add them, and the writer's thread encodes them.
final class JournalQueue: LineSource {
    /// The largest number of waiting lines; further ones are dropped and counted.
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

    /// An empty queue whose lines are encoded by `encode`.
    init(encode: @escaping @Sendable (JournalLine) -> String) {
        self.encode = encode
    }

    /// Adds an entry if the quota takes it, after the omissions of the last second. Returns whether the queue has become
    /// non-empty, so that the writer has to be woken.
    func add(_ entry: JournalEntry) -> Bool {
        adding { state in
            let (isTaken, omissions) = state.quota.admit(entry)
            for omission in omissions { state.add(.omission(omission, entry.moment)) }
            if isTaken { state.add(.fault(entry)) }
        }
    }

    /// Adds a line that has no quota; returns the same.
    func add(_ line: JournalLine) -> Bool { adding { $0.add(line) } }

    /// Adds the omissions since the last call; returns the same, and the entries left out since the beginning.
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
