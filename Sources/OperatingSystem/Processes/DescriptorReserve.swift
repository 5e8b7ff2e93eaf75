import Glibc
import Synchronization

/// The last descriptors of the process, reserved for files and system libraries. (libdispatch opens a file in /proc once a
/// second while work waits, and aborts the process if it can't.)
package enum DescriptorReserve {
    /// The number of descriptors that are reserved always: 16.
    private static let least = 16
    /// The number of those that are reserved besides, see `ProcessLimits.reserveOpenFiles`.
    static let others = Atomic<Int>(0)
    /// Whether a descriptor was half of the limit or more. It stays set: a lower one that is opened later may fill the
    /// last gap below the reserve.
    private static let isNear = Atomic<Bool>(false)

    /// The number of reserved descriptors.
    private static var count: Int { least + others.load(ordering: .relaxed) }

    /// Notes a descriptor that was opened; returns whether it is reserved.
    @discardableResult
    package static func note(_ descriptor: Int32) -> Bool {
        let limit = limit
        if Int(descriptor) >= limit / 2 { isNear.store(true, ordering: .relaxed) }
        return Int(descriptor) >= limit - count
    }

    /// Whether the next descriptor would be reserved. Tested by duplicating `descriptor`, unless all that were noted
    /// are far from the reserve.
    package static func isNext(duplicating descriptor: Int32) -> Bool {
        guard isNear.load(ordering: .relaxed) else { return false }
        let next = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard next >= 0 else { return true }
        Glibc.close(next)
        return note(next)
    }

    private static var limit: Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }
}
