import Dispatch
import Glibc
import Synchronization

/// A child process in a process group of its own, with its input and outputs on /dev/null.
///
/// It starts as from a shell: with default signal handling, no blocked signals, and the original limit of open files.
public final class ChildProcess: Sendable {
    /// How a program ended.
    public enum End: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// It was killed by this signal.
        case signal(Int32)
    }

    private struct State {
        var end: End?
        var waiters: [CheckedContinuation<End, Never>] = []
    }

    /// The process groups of the running children.
    private static let running = Mutex<Set<pid_t>>([])

    private let process: pid_t
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "squall.child")

    /// Starts the program `arguments[0]`, a path or a name in PATH.
    ///
    /// - Throws: `SystemError` of posix_spawn; ENOENT if there is no such program.
    public init(_ arguments: [String], environment: [String: String]) throws(SystemError) {
        // With SIGCHLD ignored, waiting for children doesn't work.
        signal(SIGCHLD, SIG_DFL)
        process = try ChildProcess.running.withLock { running throws(SystemError) in
            let process = try ChildProcess.startOrInterpret(arguments, environment)
            running.insert(process)
            return process
        }
        queue.async { [self] in watch() }
    }

    /// Exits at once and kills the groups of all children; no child can be started any more.
    public static func exitWithGroups(_ code: Int32) -> Never {
        running.withLock { running in
            for process in running { _ = kill(-process, SIGKILL) }
            _exit(code)
        }
    }

    /// Waits for the end of the program, then kills the rest of its group.
    public func end() async -> End {
        await withCheckedContinuation { continuation in
            let end = state.withLock { state in
                if state.end == nil { state.waiters.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    /// Sends a signal to the program's group; does nothing once the program has ended.
    public func signalGroup(_ number: Int32) {
        state.withLock { state in
            if state.end == nil { _ = kill(-process, number) }
        }
    }

    /// Waits for the end, on a thread of the queue.
    private func watch() {
        // The status isn't reaped yet, so that the process and group numbers aren't reused.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let (end, waiters) = state.withLock { state in
            var status: Int32 = 0
            ChildProcess.running.withLock { running in
                _ = kill(-process, SIGKILL)
                while waitpid(process, &status, 0) < 0, errno == EINTR {}
                running.remove(process)
            }
            let number = status & 0x7F
            let end = number == 0 ? End.exit((status >> 8) & 0xFF) : .signal(number)
            state.end = end
            defer { state.waiters = [] }
            return (end, state.waiters)
        }
        for waiter in waiters { waiter.resume(returning: end) }
    }

    private static func startOrInterpret(
        _ arguments: [String],
        _ environment: [String: String]
    ) throws(SystemError) -> pid_t {
        do throws(SystemError) {
            return try start(arguments, environment)
        } catch {
            // A script without an interpreter line is run by the shell, as in execvp(3).
            guard error.code == ENOEXEC, let script = path(of: arguments[0]) else { throw error }
            return try start(["/bin/sh", script] + arguments.dropFirst(), environment)
        }
    }

    /// The file that posix_spawnp(3) runs: a path is one, and a name is looked up in PATH.
    private static func path(of program: String) -> String? {
        if program.contains("/") { return program }
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        return folders.split(separator: ":", omittingEmptySubsequences: false)
            .map { $0.isEmpty ? "./\(program)" : "\($0)/\(program)" }
            .first { path in
                var facts = stat()
                return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
            }
    }

    private static func start(
        _ arguments: [String],
        _ environment: [String: String]
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        for output in [STDOUT_FILENO, STDERR_FILENO] {
            posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        for number in [SIGCHLD, SIGINT, SIGPIPE, SIGTERM] { sigaddset(&signals, number) }
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        var process: pid_t = 0
        let code = ProcessLimits.withInheritedOpenFiles {
            posix_spawnp(&process, arguments[0], &actions, &attributes, words, variables)
        }
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        return process
    }
}
