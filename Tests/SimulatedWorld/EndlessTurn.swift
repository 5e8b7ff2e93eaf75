import Glibc
import Synchronization

/// A turn of a loop that doesn't end: nothing can go on from there, so the process says which seed it was and ends.
public enum EndlessTurn {
    private static let current = Atomic<UInt64>(0)
    private static let begun = Atomic<Int>(0)

    /// The seed whose world runs on this thread begins now.
    static func begin(_ seed: UInt64) {
        current.store(seed, ordering: .relaxed)
        begun.store(time(nil), ordering: .relaxed)
    }

    /// Says that the world of the last seed has no end, and ends the process with the exit code 1.
    static func report() -> Never {
        print("seed \(current.load(ordering: .relaxed)): a turn without an end")
        fflush(nil)
        exit(1)
    }

    /// Whether the world that runs has taken longer than any should, 60 s.
    public static var isLikely: Bool {
        let begun = begun.load(ordering: .relaxed)
        return begun > 0 && time(nil) - begun > 60
    }

    /// Ends the process if the world that runs has taken longer than any should. To be called from another thread.
    public static func check() { if isLikely { report() } }
}
