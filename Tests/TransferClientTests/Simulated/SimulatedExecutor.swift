import Synchronization
import Units

/// Runs task jobs one at a time on the calling thread, in a seeded order: concurrent work is interleaved reproducibly.
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

    /// Runs a task and its children until nothing is left.
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
