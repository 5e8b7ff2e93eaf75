import Synchronization

/// A checkpoint that runs beside a transfer, and once more if bytes came that it was too late for.
final class RunningCheckpoint: Sendable {
    private enum State {
        case running
        case wantedAgain
        case done
    }

    private final class Progress: Sendable {
        let state = Mutex(State.running)

        /// Whether another round is wanted; without one the checkpoint is done.
        func startsAgain() -> Bool {
            state.withLock { state in
                switch state {
                case .wantedAgain:
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
    private let task: Task<Result<Void, DownloadError>, Never>

    /// Starts a checkpoint of `file` on an executor, or on the usual one.
    init(of file: PartialFile, on executor: (any TaskExecutor)?) {
        task = Task.detached(executorPreference: executor) { [progress] in
            do throws(DownloadError) {
                repeat { try await file.checkpoint() } while progress.startsAgain()
                return .success(())
            } catch {
                progress.state.withLock { $0 = .done }
                return .failure(error)
            }
        }
    }

    /// Whether nothing is left to wait for.
    var isDone: Bool { progress.state.withLock { $0 == .done } }

    /// Has the file's bytes of now promised as well; `false` when the checkpoint is done already.
    func repeats() -> Bool {
        progress.state.withLock { state in
            guard state != .done else { return false }
            state = .wantedAgain
            return true
        }
    }

    /// Waits for the end, and tells how it went.
    func finish() async -> Result<Void, DownloadError> { await task.value }
}
