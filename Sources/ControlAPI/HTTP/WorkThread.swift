import Dispatch

/// Runs tasks one after the other on a thread of its own, so that their work keeps no thread of other tasks.
public final class WorkThread: TaskExecutor {
    /// The thread of the process for long work.
    public static let shared = WorkThread()

    private let queue = DispatchQueue(label: "squall.work")

    private init() {}

    /// Adds the next part of a task.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
