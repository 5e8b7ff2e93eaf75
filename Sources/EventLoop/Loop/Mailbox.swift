import CLibevent
import Glibc
import OperatingSystem
import Synchronization

/// The only cross-thread entry to a loop: jobs posted from any thread, run on the loop in order.
final class Mailbox: Sendable {
    typealias Job = @Sendable () -> Void

    /// The most waiting jobs; beyond it `post` refuses.
    static let limit = 65_536

    private struct State {
        var jobs: [Job] = []
        var isClosed = false
    }

    /// The descriptor that becomes readable when a job waits.
    let wakeDescriptor: Int32
    private let state = Mutex(State())

    init() throws(SystemError) {
        wakeDescriptor = squall_eventfd()
        if wakeDescriptor < 0 { throw .last("eventfd") }
    }

    deinit {
        close(wakeDescriptor)
    }

    /// Posts a job; `false` if the mailbox is full or closed, and the job won't run.
    func post(_ job: @escaping Job) -> Bool { post(job, limit: Mailbox.limit) }

    /// Posts a job regardless of the limit; `false` if the mailbox is closed.
    @discardableResult
    func postBeyondLimit(_ job: @escaping Job) -> Bool { post(job, limit: .max) }

    private func post(_ job: @escaping Job, limit: Int) -> Bool {
        let outcome = state.withLock { state -> (taken: Bool, first: Bool) in
            guard !state.isClosed, state.jobs.count < limit else { return (false, false) }
            state.jobs.append(job)
            return (true, state.jobs.count == 1)
        }
        if outcome.first { wake() }
        return outcome.taken
    }

    var hasJobs: Bool { state.withLock { !$0.jobs.isEmpty } }

    func takeJobs() -> [Job] {
        var count: UInt64 = 0
        _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
        return state.withLock { state in
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    /// Refuses further jobs and returns those that wait.
    func close() -> [Job] {
        state.withLock { state in
            state.isClosed = true
            defer { state.jobs = [] }
            return state.jobs
        }
    }

    private func close(_ descriptor: Int32) {
        Glibc.close(descriptor)
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }
}
