import Glibc

/// This program started once more, to go on in the background: in a session of its own, with both outputs in a log.
///
/// The started process calls `tellReady` once it serves; `start` returns then.
public enum DetachedProgram {
    /// How a start ended.
    public enum Start: Hashable, Sendable {
        /// It serves, as this process.
        case ready(process: Int32)
        /// It ended before it served.
        case ended(ChildProcess.End)
    }

    /// The environment variable by which the started process knows that another one waits for it.
    private static let variable = "SQUALL_DETACHED"
    /// The descriptor on which it tells that it is ready.
    static let channel: Int32 = 3

    /// The descriptors of a process that `start` has started, but for its standard ones and the channel; `nil` in
    /// another process. Noted at the first use.
    private static let inherited =
        isSelf ? ProcessLimits.openDescriptors.filter { $0 > channel && fcntl($0, F_GETFD) == 0 } : nil

    /// Whether this process was started by `start`, also when it is ready.
    package static var startedDetached: Bool { inherited != nil }

    /// Notes the descriptors that this process has of the one that started it. To be called before anything is opened.
    package static func noteDescriptors() { _ = inherited }

    /// Whether this process was started by `start` and isn't ready yet.
    public static var isSelf: Bool { getenv(variable) != nil }

    /// Makes an empty log that only its owner may read, `NAME-XXXXXX.log` in `$TMPDIR` or /tmp.
    ///
    /// - Throws: `SystemError` of mkstemps(3).
    public static func makeLog(name: String) throws(SystemError) -> (path: String, descriptor: Int32) {
        var path = Array("\(UserFolders.temporary)/\(name)-XXXXXX.log".utf8CString)
        let descriptor = mkstemps(&path, 4)
        guard descriptor >= 0 else { throw .last("mkstemps") }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        return (String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self), descriptor)
    }

    /// Opens an empty log at a path, which only its owner may read.
    ///
    /// - Throws: `SystemError` of open(2).
    public static func openLog(_ path: String) throws(SystemError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last("open") }
        return descriptor
    }

    /// Starts this program, and waits until it is ready or has ended, however long that takes. It keeps standard input, and
    /// the descriptors that aren't closed on exec, until it is ready.
    ///
    /// - Parameters:
    ///   - log: the descriptor for both of its outputs, which is closed.
    ///   - arguments: its arguments; by default those of this process.
    /// - Throws: `SystemError` of socketpair or posix_spawn.
    public static func start(
        log: Int32,
        arguments: [String] = Array(CommandLine.arguments.dropFirst())
    ) throws(SystemError) -> Start {
        defer { close(log) }
        var sockets: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &sockets) == 0 else { throw .last("socketpair") }
        defer { close(sockets[0]) }
        signal(SIGCHLD, SIG_DFL)
        setenv(variable, "1", 1)
        defer { unsetenv(variable) }
        let started = Result { () throws(SystemError) in
            try ProgramStart.runSelf(arguments, .detached(output: log, channel: sockets[1]))
        }
        close(sockets[1])
        let process = try started.get()
        if GuardProtocol.read(1, from: sockets[0]) != nil { return .ready(process: process) }
        return .ended(ChildProcess.End(awaiting: process))
    }

    /// Sends a signal to a process that `start` has started, and waits for its end.
    public static func end(_ process: Int32, by signal: Int32) {
        guard kill(process, signal) == 0 else { return }
        _ = ChildProcess.End(awaiting: process)
    }

    /// Releases standard input and inherited descriptors, and tells the process that waits for this one that it is ready.
    /// Asks this process to end by SIGTERM if the other one has ended meanwhile. Does nothing in a process that `start`
    /// hasn't started, or that was ready before.
    public static func tellReady() {
        guard isSelf else { return }
        unsetenv(variable)
        defer { close(channel) }
        // First, so that nobody who hears of this process sees it with its input.
        let empty = open("/dev/null", O_RDONLY | O_CLOEXEC)
        if empty >= 0 {
            dup2(empty, STDIN_FILENO)
            close(empty)
        }
        // One may have a lock, or be a socket of the other process.
        for descriptor in inherited ?? [] { close(descriptor) }
        do throws(SystemError) {
            try GuardProtocol.write([1], to: channel)
        } catch {
            kill(getpid(), SIGTERM)
        }
    }
}
