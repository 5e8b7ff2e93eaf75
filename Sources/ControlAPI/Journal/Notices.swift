import Synchronization

/// Counts changes of the server, and keeps the last problems, for readers that come and go.
package final class Notices: Sendable {
    /// The problems that are kept: 100.
    static let capacity = 100

    private struct State {
        var changes: UInt64 = 0
        /// The number of the last problem, from 1.
        var lastProblem: UInt64 = 0
        var problems: [String] = []
        var isStopped = false
        var observers: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    package var changes: UInt64 { state.withLock { $0.changes } }

    /// The number of the last problem; 0 before the first.
    var lastProblem: UInt64 { state.withLock { $0.lastProblem } }

    /// Whether the server stops.
    var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Calls `observer` after each change, and when the server stops, on any thread.
    func observe(_ observer: @escaping @Sendable () -> Void) { state.withLock { $0.observers.append(observer) } }

    package func noteChange() { tell { $0.changes += 1 } }

    private func tell(_ change: (inout State) -> Void) {
        let observers = state.withLock { state in
            change(&state)
            return state.observers
        }
        for observer in observers { observer() }
    }

    package func noteProblem(_ text: String) {
        state.withLock { state in
            state.lastProblem += 1
            state.problems.append(text)
            if state.problems.count > Notices.capacity { state.problems.removeFirst() }
        }
    }

    /// The problems after the one numbered `last`, oldest first, as far as they are kept; sets `last` to the last one.
    func problems(after last: inout UInt64) -> [String] {
        state.withLock { state in
            defer { last = state.lastProblem }
            return Array(state.problems.suffix(Int(clamping: state.lastProblem - last)))
        }
    }

    /// Ends every reader.
    package func stop() { tell { $0.isStopped = true } }
}
