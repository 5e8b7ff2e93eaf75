import Glibc
import Synchronization

/// Settings of the whole process that a proxy needs.
public enum ProcessLimits {
    /// The limit that the process began with, once it has been raised.
    private static let inherited = Mutex<rlimit?>(nil)

    /// Raises the number of descriptors that the process may open as far as the system lets it.
    ///
    /// - Returns: the number it may open now.
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

    /// Does `body`, which starts another program, with the number of descriptors that the process began with: a program
    /// may well go by it, and some can't do with a high one.
    static func withInheritedOpenFiles<Result>(_ body: () -> Result) -> Result {
        inherited.withLock { inherited in
            guard let inherited else { return body() }
            let raised = openFiles
            openFiles = inherited
            defer { openFiles = raised }
            return body()
        }
    }

    /// Writing to a socket or pipe whose reader has gone is an error of the call, not the end of the process.
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
