import Glibc
import Synchronization

/// The world that runs now: the process prints its seed when it can't go on, after a crash or in a turn of a loop without an end.
public enum RunningWorld {
    private static let current = Atomic<UInt64>(0)
    private static let begun = Atomic<Int>(0)
    /// The signal of a failure of the runtime.
    private static var trap: Int32 {
        #if arch(x86_64)
            SIGILL
        #else
            SIGTRAP
        #endif
    }

    /// The action at a crash before `reportCrashes` was called.
    nonisolated(unsafe) private static var previous = sigaction()

    /// The seed whose world runs on this thread begins now.
    static func begin(_ seed: UInt64) {
        current.store(seed, ordering: .relaxed)
        begun.store(time(nil), ordering: .relaxed)
    }

    /// Says that the world of the last seed has no end, and ends the process with the exit code 1.
    static func reportEndlessTurn() -> Never {
        print("seed \(current.load(ordering: .relaxed)): a turn without an end")
        fflush(nil)
        exit(1)
    }

    /// Whether the world that runs has taken longer than any should, 60 s.
    public static var isLikelyEndless: Bool {
        let begun = begun.load(ordering: .relaxed)
        return begun > 0 && time(nil) - begun > 60
    }

    /// Ends the process if the world that runs has taken longer than any should. To be called from another thread.
    public static func check() { if isLikelyEndless { reportEndlessTurn() } }

    /// From now on says at a failure of the runtime, such as an overflow, which seed it was.
    public static func reportCrashes() {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in
            // The instruction fails again when this returns, and ends the process as it would have.
            sigaction(RunningWorld.trap, &RunningWorld.previous, nil)
            print("seed \(RunningWorld.current.load(ordering: .relaxed)): a crash")
            fflush(nil)
        }
        sigaction(trap, &action, &previous)
    }
}
