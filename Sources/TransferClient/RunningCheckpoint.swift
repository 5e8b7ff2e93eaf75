import Synchronization

/// A checkpoint that runs concurrently, and once more if bytes arrived too late for it.
final class RunningCheckpoint: Sendable {
    private enum State {
        case running
        case repeatRequested
        case done
    }

    private final class Progress: Sendable {
        let state = Mutex(State.running)

        /// Whether another round was requested; otherwise the checkpoint is done.
        func startsAgain() -> Bool {
            state.withLock { state in
                switch state {
                case .repeatRequested:
                    state = .running
                    return true
                case .running, .done:
                    state = .done
                    return false
                }
            }
        }
    }

    private let progress = Progress()
    private let task: Task<Result<Void, TransferError>, Never>

    /// Starts a checkpoint of `file` on an executor, or on the default one.
    init(of file: PartialFile, on executor: (any TaskExecutor)?) {
        task = Task.detached(executorPreference: executor) { [progress] in
            do throws(TransferError) {
                repeat { try await file.checkpoint() } while progress.startsAgain()
                return .success(())
            } catch {
                progress.state.withLock { $0 = .done }
                return .failure(error)
            }
        }
    }

    /// Whether the checkpoint has finished.
    var isDone: Bool { progress.state.withLock { $0 == .done } }

    /// Requests another round for the bytes of now; `false` when the checkpoint is already done.
    func repeats() -> Bool {
        progress.state.withLock { state in
            guard state != .done else { return false }
            state = .repeatRequested
            return true
        }
    }

    /// Waits for the checkpoint and returns its result.
    func finish() async -> Result<Void, TransferError> { await task.value }
}
