import Glibc

/// Settings of the whole process that a proxy needs.
public enum ProcessLimits {
    /// Raises the number of descriptors that the process may open as far as the system lets it.
    ///
    /// - Returns: the number it may open now.
    @discardableResult
    public static func raiseOpenFiles() -> Int {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return Int(clamping: limit.rlim_cur)
    }

    /// Writing to a socket or pipe whose reader has gone is an error of the call, not the end of the process.
    public static func ignoreBrokenPipes() {
        signal(SIGPIPE, SIG_IGN)
    }
}
