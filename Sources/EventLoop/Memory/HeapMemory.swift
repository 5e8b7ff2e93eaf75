import CLibevent

/// The memory that the process has taken from the system.
public enum HeapMemory {
    /// Gives back what has been freed; takes a millisecond or so.
    public static func giveBack() { squall_give_memory_back() }
}
