import Synchronization

/// Whether the client of a connection is still there to read responses.
package final class ClientPresence: Sendable {
    private struct State {
        var isGone = false
        var observer: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Whether the client has ended its stream, or its connection is closed.
    package var isGone: Bool { state.withLock { $0.isGone } }

    /// Notes that the client is gone. Calling it twice is fine.
    package func leave() {
        let observer = state.withLock { state in
            state.isGone = true
            return state.observer.take()
        }
        observer?()
    }

    /// Calls `observer` once when the client goes, at once if it has gone; in the place of the observer before.
    func whenGone(_ observer: @escaping @Sendable () -> Void) {
        let isGone = state.withLock { state in
            state.observer = state.isGone ? nil : observer
            return state.isGone
        }
        if isGone { observer() }
    }
}
