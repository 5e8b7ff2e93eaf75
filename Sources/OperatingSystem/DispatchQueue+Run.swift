import Dispatch

extension DispatchQueue {
    /// Runs `body`, which may block, on the queue, and returns its result.
    package func run<Value: Sendable, Failure>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
            self.async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
