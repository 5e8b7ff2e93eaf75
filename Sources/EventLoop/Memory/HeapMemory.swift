import Glibc

/// The memory that the process has taken from the system.
public enum HeapMemory {
    /// Gives back what has been freed (malloc_trim(3)); takes a millisecond or so.
    public static func giveBack() { malloc_trim(0) }
}
