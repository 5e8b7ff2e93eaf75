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

    /// The descriptors that are open.
    package static var openDescriptors: Set<Int32> {
        // The one with which the folder was read is closed by now.
        Set((NumericNames.of("/proc/self/fd") ?? []).filter { fcntl($0, F_GETFD) >= 0 })
    }

    /// Opens /dev/null in place of standard descriptors that are closed, so that no other file gets their numbers. Reading and
    /// writing them still fails with EBADF, and in programs that share them they are closed.
    public static func occupyStandardDescriptors() {
        for (descriptor, mode) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", mode | O_CLOEXEC)
        }
    }

    /// Makes room in the kernel for 16,384 descriptors, as far as the limit may be raised. To be called before the process has
    /// threads: later, a call that needs a larger table than all before waits for 8 to 16 ms (an RCU grace period).
    public static func growDescriptorTable() {
        let limit = openFiles
        defer { openFiles = limit }
        openFiles = rlimit(rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max)
        let last = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, Int32(clamping: min(limit.rlim_max, 16_384)) - 1)
        if last >= 0 { close(last) }
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

    /// Has SIGQUIT end this process at once, as Ctrl-\ ends others; Swift's runtime would ask on the terminal whether to
    /// debug it. One that the caller ignores stays ignored.
    package static func endAtQuit() {
        if !InheritedSignals.ignores(SIGQUIT) { signal(SIGQUIT, SIG_DFL) }
    }

    /// Leaves Ctrl-C and Ctrl-\ of a terminal to a command in the same process group.
    package static func ignoreKeyboardSignals() {
        signal(SIGINT, SIG_IGN)
        signal(SIGQUIT, SIG_IGN)
    }

    /// Ends this process as a command of its has ended, without a second core file.
    package static func end(like end: ChildProcess.End) -> Never {
        guard case .signal(let number) = end else {
            if case .exit(let code) = end { exit(code) }
            exit(1)
        }
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        fflush(nil)
        signal(number, SIG_DFL)
        unblock(number)
        raise(number)
        exit(128 + number)
    }

    /// Has the calling thread take a signal, even if the caller of this process blocks it.
    package static func unblock(_ number: Int32) {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, number)
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
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
