import Synchronization
import Units

/// Runs the jobs of tasks one after the other on the thread that asks for it, in an order that a seed draws: what runs
/// side by side elsewhere runs interleaved here, and in the same way each time.
final class SimulatedExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var random: SeededGenerator
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SeededGenerator(seed: seed))) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.jobs.append(job) }
    }

    /// Runs a task and what it starts, until nothing is left to do.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value? {
        let result = Result<Value>()
        Task(executorPreference: self) {
            let value = await body()
            result.value.withLock { $0 = value }
        }
        while let job = next() { job.runSynchronously(on: asUnownedTaskExecutor()) }
        return result.value.withLock { $0 }
    }

    private final class Result<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            guard !state.jobs.isEmpty else { return nil }
            return state.jobs.remove(at: Int(state.random.next() % UInt64(state.jobs.count)))
        }
    }
}
