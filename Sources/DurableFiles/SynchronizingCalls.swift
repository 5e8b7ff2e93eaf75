import Glibc

/// The calls that sync a file to the disk. Only a power failure shows whether they were made, so tests count them.
struct SynchronizingCalls: Sendable {
    /// fdatasync(2): 0, or -1 with errno.
    var synchronizeData: @Sendable (CInt) -> CInt
    /// fsync(2): 0, or -1 with errno.
    var synchronize: @Sendable (CInt) -> CInt

    /// The calls of the system.
    static let system = SynchronizingCalls(synchronizeData: { fdatasync($0) }, synchronize: { fsync($0) })
}
