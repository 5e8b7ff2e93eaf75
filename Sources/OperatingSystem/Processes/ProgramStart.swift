import CProcess
import Glibc

/// Starts programs by posix_spawn(3): in a process group of their own, with default signal handling, no blocked signals and
/// the original limit of open files, as from a shell. One that shares what this process has starts as this one has.
package enum ProgramStart {
    /// The descriptors that a program gets.
    enum Streams {
        /// Nothing to read, and outputs that are dropped; `withOthers` as well the other descriptors of this process.
        case none(withOthers: Bool)
        /// These as standard input, and as standard output and error.
        case descriptors(input: Int32, output: Int32)
        /// These files, of which the outputs are made anew.
        case files(ChildProcess.Files)
        /// Nothing to read, and the outputs of this process, in its session.
        case inheritedOutputs
        /// The standard input of this process, `output` for both outputs, and `channel` as `DetachedProgram.channel`.
        case detached(output: Int32, channel: Int32)
        /// Those of this process but `without` some, in its process group, with its `InheritedSignals`; `channel` as well, at
        /// its number.
        case shared(channel: Int32?, without: [Int32] = [])

        /// The flag of posix_spawn(3) for the program's group. A group in the background that reads from its terminal is
        /// stopped (SIGTTIN), so a program without those of this process has none: it begins a session.
        /// `POSIX_SPAWN_SETSID` is a GNU extension that isn't imported.
        var groupFlag: Int32 {
            switch self {
            case .none, .descriptors, .files, .detached: 0x80
            case .inheritedOutputs: Int32(POSIX_SPAWN_SETPGROUP)
            case .shared: 0
            }
        }

        /// The first descriptor that the program doesn't get. Libraries, such as NIO, open some that aren't closed on
        /// exec. `nil` where the program's user may have given descriptors, but for `TestProcess`.
        var firstClosed: Int32? {
            switch self {
            case .none(withOthers: false), .files: STDERR_FILENO + 1
            // `DetachedProgram` closes them: an argument may be the path of one, such as /dev/fd/63.
            case .none(withOthers: true), .descriptors, .inheritedOutputs, .detached, .shared: nil
            }
        }
    }

    /// Starts the program `arguments[0]`, a path or a name in PATH. A script without an interpreter line is run by the shell,
    /// as in execvp(3).
    static func run(
        _ arguments: [String],
        _ environment: [String: String]?,
        _ streams: Streams
    ) throws(SystemError) -> pid_t {
        do throws(SystemError) {
            return try spawn(nil, arguments, environment, streams)
        } catch {
            guard error.code == ENOEXEC, let script = path(of: arguments[0]) else { throw error }
            let shell = ["/bin/sh", script] + arguments.dropFirst()
            return try spawn(nil, shell, environment, streams)
        }
    }

    /// Whether the arguments of this process are UTF-8. In place of other bytes `CommandLine.arguments` has U+FFFD.
    package static var argumentsAreText: Bool {
        (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0] }.allSatisfy {
            String(validatingCString: $0) != nil
        }
    }

    /// Starts this program once more, with other arguments behind its name.
    static func runSelf(
        _ arguments: [String],
        _ streams: Streams,
        _ environment: [String: String]? = nil
    ) throws(SystemError) -> pid_t {
        // The link leads to the program even if its file has been replaced.
        try spawn("/proc/self/exe", [CommandLine.arguments.first ?? "squall"] + arguments, environment, streams)
    }

    /// Gives this process the name of its program in lists of processes. One that `runSelf` has started is called after the
    /// link, “exe”.
    package static func nameProcess() {
        let file = open("/proc/self/comm", O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        var present = [UInt8](repeating: 0, count: 16)
        let count = read(file, &present, present.count)
        guard count > 0, present.prefix(count).elementsEqual("exe\n".utf8) else { return }
        let name = Array((CommandLine.arguments.first?.split(separator: "/").last ?? "squall").utf8)
        _ = write(file, name, name.count)
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

    /// The words of a command line as C strings. Those at its end that end this process's own have their bytes, which may be
    /// none that a `String` keeps.
    private static func words(_ arguments: [String]) -> [UnsafeMutablePointer<CChar>] {
        let own = (0..<Int(CommandLine.argc)).compactMap { CommandLine.unsafeArgv[$0] }
        let same = zip(own.reversed(), arguments.reversed()).prefix { String(cString: $0) == $1 }.map(\.0)
        return (arguments.dropLast(same.count).map { strdup($0) } + same.reversed().map { strdup($0) }).compactMap(
            \.self
        )
    }

    /// The variables of an environment as C strings; `nil` is that of this process. Those that this process has as well have
    /// their bytes.
    private static func variables(_ environment: [String: String]?) -> [UnsafeMutablePointer<CChar>] {
        var own: [UnsafeMutablePointer<CChar>] = []
        while let text = environ[own.count] { own.append(text) }
        guard let environment else { return own.compactMap { strdup($0) } }
        let bytes = Dictionary(own.map { (String(cString: $0), $0) }) { first, _ in first }
        return environment.map { "\($0.key)=\($0.value)" }.compactMap { text in
            bytes[text].map { strdup($0) } ?? strdup(text)
        }
    }

    /// Starts `program`; `nil` is the first of the arguments.
    private static func spawn(
        _ program: String?,
        _ arguments: [String],
        _ environment: [String: String]?,
        _ streams: Streams
    ) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        switch streams {
        case .none:
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            for output in [STDOUT_FILENO, STDERR_FILENO] {
                posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
            }
        case .descriptors(let input, let output):
            posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        case .files(let files):
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, files.input, O_RDONLY, 0)
            for (output, path) in [(STDOUT_FILENO, files.output), (STDERR_FILENO, files.errors)] {
                posix_spawn_file_actions_addopen(&actions, output, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            }
        case .inheritedOutputs:
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        case .detached(let output, let channel):
            posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
            posix_spawn_file_actions_adddup2(&actions, channel, DetachedProgram.channel)
        case .shared(let channel, let others):
            // It isn't closed on exec then.
            if let channel { posix_spawn_file_actions_adddup2(&actions, channel, channel) }
            for descriptor in others where descriptor != channel {
                posix_spawn_file_actions_addclose(&actions, descriptor)
            }
        }
        if let first = streams.firstClosed { squall_close_from(&actions, first) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        if case .shared = streams {
            InheritedSignals.apply(to: &attributes)
        } else {
            var signals = sigset_t()
            sigemptyset(&signals)
            posix_spawnattr_setsigmask(&attributes, &signals)
            for number in [SIGCHLD, SIGINT, SIGPIPE, SIGQUIT, SIGTERM] { sigaddset(&signals, number) }
            posix_spawnattr_setsigdefault(&attributes, &signals)
        }
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF) | streams.groupFlag
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let (words, variables) = (words(arguments), variables(environment))
        let name = program.flatMap { strdup($0) }
        defer { for text in words + variables + [name] { free(text) } }
        var process: pid_t = 0
        let code = ProcessLimits.withInheritedOpenFiles {
            posix_spawnp(&process, name ?? words[0], &actions, &attributes, words + [nil], variables + [nil])
        }
        guard code == 0 else { throw SystemError(call: "posix_spawn", code: code) }
        return process
    }
}
