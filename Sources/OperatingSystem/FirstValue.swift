import Synchronization

/// The first of several values, or a one-time event, that any number of tasks can await.
package final class FirstValue<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var waiters: [CheckedContinuation<Value, Never>] = []
    }

    private let state = Mutex(State())

    /// Makes it, without a value.
    package init() {}

    /// Sets the value, unless there is one.
    package func resolve(_ value: Value) {
        let waiters = state.withLock { state -> [CheckedContinuation<Value, Never>] in
            guard state.value == nil else { return [] }
            state.value = value
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: value) }
    }

    /// The first value, if there is one.
    package var current: Value? { state.withLock { $0.value } }

    /// The first value, once there is one.
    package var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let value = state.withLock { state in
                    if state.value == nil { state.waiters.append(continuation) }
                    return state.value
                }
                if let value { continuation.resume(returning: value) }
            }
        }
    }

    /// Runs `body` on its own task until it returns, or until this task is cancelled, whatever `body` does then.
    ///
    /// - Parameter cancelled: The value for a cancelled task. `body` is cancelled afterwards, because it may then return as
    ///   if it were complete.
    @_semantics("optimize.sil.specialize.generic.never")
    package static func result(
        orWhenCancelled cancelled: Value,
        of body: @escaping @Sendable () async -> Value
    ) async -> Value {
        let outcome = FirstValue()
        let task = Task { outcome.resolve(await body()) }
        return await withTaskCancellationHandler {
            await outcome.value
        } onCancel: {
            outcome.resolve(cancelled)
            task.cancel()
        }
    }
}
