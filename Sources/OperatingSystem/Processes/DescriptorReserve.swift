import Glibc
import Synchronization

/// The last descriptors of the process, reserved for files and system libraries. (libdispatch opens a file in /proc once a
/// second while work waits, and aborts the process if it can't.)
package enum DescriptorReserve {
    /// The number of descriptors that are reserved always: 16.
    private static let least = 16
    /// The number of those that are reserved besides, see `ProcessLimits.reserveOpenFiles`.
    static let others = Atomic<Int>(0)

    /// The number of reserved descriptors.
    private static var count: Int { least + others.load(ordering: .relaxed) }

    package static func includes(_ descriptor: Int32) -> Bool { Int(descriptor) >= limit - count }

    /// Whether the next descriptor would be reserved. Tested by duplicating `descriptor`, unless the recently opened `last`
    /// is far from the reserve.
    package static func isNext(after last: Int32, duplicating descriptor: Int32) -> Bool {
        let limit = limit
        guard Int(last) >= limit / 2 else { return false }
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { return true }
        Glibc.close(next)
        return Int(next) >= limit - count
    }

    private static var limit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
