import Synchronization

/// Lets one task after the other run a section with suspensions, in the order in which they came.
package final class AsyncLock: Sendable {
    private struct State {
        var isTaken = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Makes a lock.
    package init() {}

    /// Runs `body` when the sections before it have ended.
    @_semantics("optimize.sil.specialize.generic.never")
    package func withLock<Result, Failure: Error>(
        _ body: @Sendable () async throws(Failure) -> sending Result
    ) async throws(Failure) -> sending Result {
        await take()
        defer { release() }
        return try await body()
    }

    private func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiters.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func release() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if state.waiters.isEmpty {
                state.isTaken = false
                return nil
            }
            return state.waiters.removeFirst()
        }
        next?.resume()
    }
}
