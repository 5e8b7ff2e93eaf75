import CProcess

/// The threads of this process's tasks.
public enum TaskThreads {
    /// Runs tasks on threads that sleep while there is nothing to run. Those of libdispatch wake up once a second.
    ///
    /// Call it at most once, on the main thread before anything awaits. Without threads, tasks run on those of libdispatch.
    public static func install() { _ = squall_run_tasks() }
}
