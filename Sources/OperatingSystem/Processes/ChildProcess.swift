import Dispatch
import Glibc
import Synchronization

/// A child process in a session and process group of its own, with its input and outputs on /dev/null or in files.
///
/// It starts as from a shell: with default signal handling, no blocked signals, and the original limit of open files.
public final class ChildProcess: Sendable {
    /// How a program ended.
    public enum End: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// It was killed by this signal.
        case signal(Int32)

        /// The end that a status of waitpid(2) tells.
        init(status: Int32) {
            let number = status & 0x7F
            self = number == 0 ? .exit((status >> 8) & 0xFF) : .signal(number)
        }

        /// Waits for the end of a child of this process, whose number may be reused then.
        init(awaiting process: pid_t) {
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            self.init(status: status)
        }
    }

    /// The paths of its input and outputs.
    package struct Files {
        let input: String
        let output: String
        let errors: String

        /// Reads from `input`, and appends to the others, which are made if they don't exist.
        package init(input: String, output: String, errors: String) {
            (self.input, self.output, self.errors) = (input, output, errors)
        }
    }

    /// The process groups of the running children.
    private static let running = Mutex<Set<pid_t>>([])

    private let process: pid_t
    private let leavesGroup: Bool
    private let ending = FirstValue<End>()
    /// Whether the process may have another's number.
    private let isReaped = Mutex(false)
    private let queue = DispatchQueue(label: "squall.child")

    /// Starts the program `arguments[0]`, a path or a name in PATH.
    ///
    /// - Parameter sharesDescriptors: Whether it has, besides its input and outputs, the descriptors of this process that aren't
    ///   closed on exec, such as those that a user has given for it.
    /// - Throws: `SystemError` of posix_spawn; ENOENT if there is no such program.
    public convenience init(
        _ arguments: [String],
        environment: [String: String],
        sharesDescriptors: Bool = false
    ) throws(SystemError) {
        try self.init(arguments, environment, .none(withOthers: sharesDescriptors), leavesGroup: false)
    }

    /// Starts a program with files that takes care of the processes of its group itself.
    ///
    /// - Throws: `SystemError` of posix_spawn; ENOENT if there is no such program, or a file can't be opened.
    package convenience init(
        _ arguments: [String],
        environment: [String: String],
        files: Files
    ) throws(SystemError) {
        try self.init(arguments, environment, .files(files), leavesGroup: true)
    }

    private init(
        _ arguments: [String],
        _ environment: [String: String],
        _ streams: ProgramStart.Streams,
        leavesGroup: Bool
    ) throws(SystemError) {
        self.leavesGroup = leavesGroup
        // With SIGCHLD ignored, waiting for children doesn't work.
        Glibc.signal(SIGCHLD, SIG_DFL)
        process = try ChildProcess.running.withLock { running throws(SystemError) in
            let process = try ProgramStart.run(arguments, environment, streams)
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

    /// Waits for the end of the program, and kills the rest of its group unless the program does.
    public func end() async -> End { await ending.value }

    /// Sends a signal to the program's group; does nothing once the program has ended.
    public func signalGroup(_ number: Int32) { send(number, to: -process) }

    /// Sends a signal to the program alone; does nothing once it has ended.
    package func signal(_ number: Int32) { send(number, to: process) }

    private func send(_ number: Int32, to receiver: pid_t) {
        isReaped.withLock { isReaped in
            if !isReaped { _ = kill(receiver, number) }
        }
    }

    /// Waits for the end, on a thread of the queue.
    private func watch() {
        // The status isn't reaped yet, so that the process and group numbers aren't reused.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        let end = isReaped.withLock { isReaped in
            isReaped = true
            return ChildProcess.running.withLock { running in
                if !leavesGroup { _ = kill(-process, SIGKILL) }
                running.remove(process)
                return End(awaiting: process)
            }
        }
        ending.resolve(end)
    }
}
