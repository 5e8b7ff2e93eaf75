import Glibc
import Synchronization

/// Process-wide settings of a proxy.
public enum ProcessLimits {
    /// The original limit, once it has been raised.
    private static let inherited = Mutex<rlimit?>(nil)

    /// Raises the limit of open descriptors to the system's maximum.
    ///
    /// - Returns: the new limit.
    @discardableResult
    public static func raiseOpenFiles() -> Int {
        inherited.withLock { inherited in
            var limit = openFiles
            if inherited == nil { inherited = limit }
            limit.rlim_cur = limit.rlim_max
            openFiles = limit
            return Int(clamping: openFiles.rlim_cur)
        }
    }

    /// The limit to which `raiseOpenFiles` raises it.
    public static var highestOpenFiles: Int { Int(clamping: openFiles.rlim_max) }

    /// The available processors, 1 or more.
    public static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Opens /dev/null in place of standard descriptors that are closed, so that no other file gets their numbers. Reading and
    /// writing them still fails with EBADF.
    public static func occupyStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode)
        }
    }

    /// Keeps `count` descriptors from proxies, besides the 16 that are always kept, for connections of another server in
    /// the process.
    public static func reserveOpenFiles(_ count: Int) { DescriptorReserve.others.store(count, ordering: .relaxed) }

    /// Runs `body`, which starts another program, with the original limit of descriptors, because some programs fail with
    /// a high one.
    static func withInheritedOpenFiles<Result>(_ body: () -> Result) -> Result {
        inherited.withLock { inherited in
            guard let inherited else { return body() }
            let raised = openFiles
            openFiles = inherited
            defer { openFiles = raised }
            return body()
        }
    }

    /// Ignores SIGPIPE, so that writing to a closed pipe is an error of the call.
    public static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }

    private static var openFiles: rlimit {
        get {
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            return limit
        }
        set {
            var limit = newValue
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
    }
}
