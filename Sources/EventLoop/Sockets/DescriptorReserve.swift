import Glibc

/// The last descriptors of the process, which no connection gets: files, and the system's own libraries, need some at
/// any time. (libdispatch opens a file in /proc once a second while work waits, and ends the process when it can't.)
enum DescriptorReserve {
    /// How many there are.
    static let count = 16

    /// Whether `descriptor`, which has been opened for a connection, is one of them.
    static func includes(_ descriptor: Int32) -> Bool { Int(descriptor) >= limit - count }

    /// Whether the next descriptor would be one of them. Found out by duplicating `descriptor`, but not where `last`,
    /// which was opened a moment ago, is far from them.
    static func isNext(after last: Int32, duplicating descriptor: Int32) -> Bool {
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
