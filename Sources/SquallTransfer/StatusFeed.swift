internal import Logging
internal import Synchronization
internal import TransferClient

/// Delivers the latest status of a transfer to its readers: an unread status is replaced by the next, and the last one
/// is always delivered.
final class StatusFeed: Sendable {
    private struct State {
        var status = TransferStatus()
        /// The number of updates.
        var version = 0
        var error: TransferError?
        var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextReader = 0
    }

    private let state = Mutex(State())
    private let isPaused = Atomic<Bool>(false)
    private let observer: (@Sendable (TransferStatus) -> Void)?
    /// Receives the engine's events.
    let onEvent: (@Sendable (TransferEvent) -> Void)?
    let logger: Logger?

    init(
        observer: (@Sendable (TransferStatus) -> Void)?,
        onEvent: (@Sendable (TransferEvent) -> Void)? = nil,
        logger: Logger? = nil
    ) {
        (self.observer, self.onEvent, self.logger) = (observer, onEvent, logger)
    }

    /// The newest status.
    var status: TransferStatus { state.withLock { $0.status } }

    /// A cancelled transfer counts as paused.
    func pause() { isPaused.store(true, ordering: .relaxed) }

    /// The phase of a cancelled transfer.
    var cancelledPhase: TransferStatus.Phase { isPaused.load(ordering: .relaxed) ? .paused : .cancelled }

    /// Updates the status. Ignored after the last one.
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

    /// Waits before the transfer starts, and reports the delay.
    ///
    /// - Throws: `.cancelled` with `token`.
    func wait(_ delay: Duration, _ token: ResumptionToken?) async throws(TransferError) {
        guard delay > .zero else { return }
        // The clock has no times much later.
        let delay = min(delay, .seconds(100 * 365 * 86_400))
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

    /// The latest status if it is newer than `seen`; `nil` after the last one, and when the reading task is cancelled.
    ///
    /// - Throws: The transfer's error, after the last status.
    func next(after seen: inout Int) async throws(TransferError) -> TransferStatus? {
        while !Task.isCancelled {
            // One critical section, so that the last status can't arrive in between.
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

    /// Waits for a status newer than `seen`, or for cancellation.
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
