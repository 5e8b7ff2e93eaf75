internal import Synchronization

/// Hands the newest status of a transfer to whoever reads: one that nobody has read yet is replaced by the next, and the
/// last one is never left out.
final class StatusFeed: Sendable {
    private struct State {
        var status = TransferStatus()
        /// Counts the statuses.
        var version = 0
        var error: TransferError?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextReader = 0
    }

    private let state = Mutex(State())
    private let observer: (@Sendable (TransferStatus) -> Void)?

    init(observer: (@Sendable (TransferStatus) -> Void)?) {
        self.observer = observer
    }

    /// The newest status.
    var status: TransferStatus { state.withLock { $0.status } }

    /// Changes the status, which is then the newest. After the last one nothing is taken.
    func update(failure: TransferError? = nil, _ change: (inout TransferStatus) -> Void) {
        let (told, readers) = state.withLock { state -> (TransferStatus?, [CheckedContinuation<Void, Never>]) in
            guard !state.status.isLast else { return (nil, []) }
            change(&state.status)
            state.version += 1
            state.error = failure
            defer { state.waiting = [:] }
            return (state.status, Array(state.waiting.values))
        }
        if let told { observer?(told) }
        for reader in readers { reader.resume() }
    }

    /// Waits before the transfer begins, and tells so.
    ///
    /// - Throws: `.cancelled` with `token`.
    func wait(_ delay: Duration, _ token: ResumptionToken?) async throws(TransferError) {
        guard delay > .zero else { return }
        update { status in
            status.phase = .waiting
            status.nextAttempt = delay
        }
        do {
            try await Task.sleep(for: delay)
        } catch {
            var cancelled = TransferError(.cancelled, "cancelled")
            (cancelled.token, cancelled.obstacle) = (token, token == nil ? .nothingKept : nil)
            throw cancelled
        }
        update { status in
            status.phase = .preparing
            status.nextAttempt = nil
        }
    }

    /// The newest status that is newer than `seen`; `nil` behind the last one, and when the task that reads is cancelled.
    ///
    /// - Throws: Why the transfer failed, behind the last status.
    func next(after seen: inout Int) async throws(TransferError) -> TransferStatus? {
        while !Task.isCancelled {
            // One look decides: between two the last status might come.
            let found = state.withLock { state -> Result<TransferStatus?, TransferError>? in
                if state.version > seen {
                    seen = state.version
                    return .success(state.status)
                }
                guard state.status.isLast else { return nil }
                return state.error.map { .failure($0) } ?? .success(nil)
            }
            if let found { return try found.get() }
            await change(after: seen)
        }
        return nil
    }

    /// Waits for a status that is newer than `seen`, or for the end of the task.
    private func change(after seen: Int) async {
        let reader = state.withLock { state in
            state.nextReader += 1
            return state.nextReader
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.version > seen || Task.isCancelled { return true }
                    state.waiting[reader] = continuation
                    return false
                }
                if isThere { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: reader) }?.resume()
        }
    }
}
