import Synchronization
import TransferProtocol
import Units

extension TransferEngine {
    /// Attempts observe the deadline themselves, and say more about it. Other steps, such as hashing and callbacks, are
    /// cancelled this much later: 250 ms.
    private static let grace = Duration.milliseconds(250)
    /// A longer deadline is treated as this: some 30 years.
    static let longest = Duration.seconds(1_000_000_000)

    /// Runs a transfer, and cancels it after the deadline.
    ///
    /// - Parameter start: The start of the transfer; `nil` for now.
    /// - Throws: The error of `body`, or a missed deadline.
    @_semantics("optimize.sil.specialize.generic.never")
    func withinDeadline<Value: Sendable>(
        since start: Moment? = nil,
        _ body: @escaping @Sendable () async throws(TransferError) -> Value
    ) async throws(TransferError) -> Value {
        guard let deadline = configuration.retry.deadline else { return try await body() }
        let spent = start.map { configuration.clock.now() - $0 } ?? .zero
        let remaining = max(.zero, min(deadline, Self.longest) - spent) + Self.grace
        let isMissed = Atomic(false)
        let task = Task { await Result(body) }
        let timer = Task { [clock = configuration.clock] in
            guard (try? await clock.timeout(remaining)) != nil else { return }
            isMissed.store(true, ordering: .relaxed)
            task.cancel()
        }
        defer { timer.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if case .failure(let error) = result, error == .cancelled, isMissed.load(ordering: .relaxed), !Task.isCancelled
        {
            throw .gaveUp(.deadline(deadline), .deadlineExceeded)
        }
        return try result.get()
    }
}
