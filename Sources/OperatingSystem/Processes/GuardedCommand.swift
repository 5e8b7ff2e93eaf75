import CProcess
import Dispatch
import Glibc
import Synchronization

/// A command that runs under a guard, with a folder of its own: nothing of it is left behind, however this process ends.
///
/// A command may stop or kill its guard. This process then does the guard's work: it has adopted the orphans of the command,
/// and kills them. Only a command that kills both processes leaves something behind.
///
/// The order is `start`, `run` once, `release`. The guard is this program, started with the arguments that `start` is given,
/// which has to call `CommandGuard.run`.
public final class GuardedCommand: Sendable {
    /// The end of a command, or why there is none.
    public enum End: Hashable, Sendable {
        /// It exited with this code.
        case exit(Int32)
        /// It was ended by this signal.
        case signal(Int32)
        /// It was killed with all that it had started, because its guard was stopped by a signal, or killed.
        case guardLost(wasStopped: Bool)
    }

    /// The guards that haven't been waited for. Guards start, and are waited for, under its lock.
    private static let guards = Mutex<Set<pid_t>>([])
    /// The result of adopting orphans, 0 or an errno value, and the children that this process had before.
    private static let adoption: (code: Int32, others: Set<pid_t>) = {
        let others = Descendants.children()
        return (squall_adopt_orphans(), others)
    }()

    /// The call that fails where the connections of a command can't be redirected.
    package static let supervisingCall = "pidfd_getfd"

    private let folder: String
    private let guardProcess: pid_t
    private let control: Int32
    private let output: Int32
    /// What has been sent to the guard.
    private struct Talk {
        /// Whether the guard has the command, before which it understands no other word.
        var hasCommand = false
        var isStopped = false
        var isReleased = false
    }
    private let talk = Mutex(Talk())
    private let wasStopped = Mutex(false)
    private let queue = DispatchQueue(label: "squall.command")
    private let watching = DispatchQueue(label: "squall.command.guard")

    private init(folder: String, guardProcess: pid_t, control: Int32, output: Int32) {
        (self.folder, self.guardProcess, self.control, self.output) = (folder, guardProcess, control, output)
    }

    /// Starts the guard, which makes `folder` with access for its owner only.
    ///
    /// - Parameters:
    ///   - folder: a path at which nothing is.
    ///   - arguments: those with which this program runs the guard of that folder.
    /// - Throws: `SystemError` of socketpair, pipe, posix_spawn or mkdir.
    public static func start(folder: String, guardedBy arguments: [String]) async throws(SystemError) -> GuardedCommand
    {
        let command = try await DispatchQueue(label: "squall.command.start").run { () throws(SystemError) in
            try spawn(folder: folder, guardedBy: arguments)
        }
        try await command.ready()
        return command
    }

    /// The first part of `start`, on the calling thread, whose filter of system calls the guard and the command inherit; `ready` is
    /// the other one.
    package static func spawn(
        folder: String,
        guardedBy arguments: [String]
    ) throws(SystemError) -> GuardedCommand {
        // With SIGCHLD ignored, waiting for children doesn't work.
        signal(SIGCHLD, SIG_DFL)
        guard adoption.code == 0 else { throw SystemError(call: "prctl", code: adoption.code) }
        var (sockets, pipes): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &sockets) == 0 else { throw .last("socketpair") }
        let code = squall_open_pipe(&pipes)
        guard code == 0 else {
            let error = SystemError(call: "pipe2", code: code)
            for descriptor in sockets { close(descriptor) }
            throw error
        }
        defer {
            close(sockets[1])
            close(pipes[1])
        }
        let process: pid_t
        do throws(SystemError) {
            process = try guards.withLock { guards throws(SystemError) in
                let process = try ProgramStart.runSelf(arguments, .descriptors(input: sockets[1], output: pipes[1]))
                guards.insert(process)
                return process
            }
        } catch {
            close(sockets[0])
            close(pipes[0])
            throw error
        }
        return GuardedCommand(folder: folder, guardProcess: process, control: sockets[0], output: pipes[0])
    }

    /// Watches the guard, and waits until it has made the folder. Not to be called on a thread with a filter of system calls, which
    /// the threads of queues would inherit.
    ///
    /// - Throws: `SystemError` of prctl, posix_spawn or mkdir; the command is released then.
    package func ready() async throws(SystemError) {
        watching.async { [self] in watchGuard() }
        switch await queue.run({ [control] in GuardProtocol.report(from: control) }) {
        case (.ready, _)?: return
        case (let report, let number)?:
            await release()
            throw SystemError(call: report == .folderFailed ? "mkdir" : "prctl", code: number)
        case nil:
            await release()
            throw SystemError(call: "posix_spawn", code: ECHILD)
        }
    }

    /// Waits until the guard ends, and kills it when a signal stops it: a stopped guard guards nothing.
    private func watchGuard() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(guardProcess), &information, WEXITED | WSTOPPED | WNOWAIT) != 0 {
            guard errno == EINTR else { return }
        }
        guard information.si_code == CLD_STOPPED else { return }
        wasStopped.withLock { $0 = true }
        _ = kill(guardProcess, SIGKILL)
    }

    /// Waits until the guard has ended. Only then are the orphans that it leaves children of this process.
    private func awaitGuard() {
        var information = siginfo_t()
        while waitid(P_PID, id_t(guardProcess), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Kills what the commands of guards that are gone have left running.
    private static func killOrphans() {
        Descendants.killAll {
            GuardedCommand.guards.withLock {
                Descendants.killChildren(sparing: $0.union(GuardedCommand.adoption.others))
            }
        }
    }

    /// Runs the program `arguments[0]`, a path or a name in PATH, to its end, and kills what it leaves running.
    ///
    /// - Parameter take: called with what the command writes to standard output and standard error, in order, on another
    ///   thread.
    /// - Throws: `SystemError` of posix_spawn; ENOENT if there is no such program.
    public func run(
        _ arguments: [String],
        environment: [String: String],
        output take: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(SystemError) -> End {
        try await queue.run { [self] () throws(SystemError) in try runWaiting(arguments, environment, take) }
    }

    private func runWaiting(
        _ arguments: [String],
        _ environment: [String: String],
        _ take: ([UInt8]) -> Void
    ) throws(SystemError) -> End {
        let message = GuardProtocol.encode(arguments, environment)
        guard message.count <= GuardProtocol.commandLimit else { throw SystemError(call: "posix_spawn", code: E2BIG) }
        try GuardProtocol.write(message, to: control)
        talk.withLock { talk in
            talk.hasCommand = true
            if talk.isStopped { tellStop() }
        }
        while true {
            var sources = [
                pollfd(fd: control, events: Int16(POLLIN), revents: 0),
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&sources, 2, -1) >= 0 || errno == EINTR else { throw .last("poll") }
            if sources[1].revents != 0 { readOutput(take) }
            guard sources[0].revents != 0 else { continue }
            guard let (report, number) = GuardProtocol.report(from: control) else {
                awaitGuard()
                GuardedCommand.killOrphans()
                readOutput(take)
                return .guardLost(wasStopped: wasStopped.withLock { $0 })
            }
            // The command and its descendants have ended, and all of their output is in the pipe.
            readOutput(take)
            switch report {
            case .exit: return .exit(number)
            case .signal: return .signal(number)
            case .startFailed: throw SystemError(call: "posix_spawn", code: number)
            case .notSupervised: throw SystemError(call: GuardedCommand.supervisingCall, code: number)
            case .ready, .folderFailed: continue
            }
        }
    }

    /// Reads what the pipe has, without waiting.
    private func readOutput(_ take: ([UInt8]) -> Void) {
        while true {
            var source = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&source, 1, 0) > 0, source.revents & Int16(POLLIN) != 0 else { return }
            let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
                count = max(0, read(output, buffer.baseAddress, buffer.count))
            }
            guard !bytes.isEmpty else { return }
            take(bytes)
        }
    }

    /// Stops the command: SIGTERM to it and its process group, and SIGKILL after `CommandGuard.stopPatience`; one that hasn't
    /// started when it does. Does nothing once it has ended.
    public func stop() {
        talk.withLock { talk in
            talk.isStopped = true
            if talk.hasCommand, !talk.isReleased { tellStop() }
        }
    }

    private func tellStop() { try? GuardProtocol.write([GuardProtocol.stop], to: control) }

    /// Ends the guard, which removes the folder, and waits for it; does that itself if the guard couldn't. To be called when
    /// `run` has returned, or in its place.
    public func release() async {
        await queue.run { [self] in releaseWaiting() }
    }

    private func releaseWaiting() {
        let wasReleased = talk.withLock { talk in
            defer { talk.isReleased = true }
            return talk.isReleased
        }
        guard !wasReleased else { return }
        close(control)
        close(output)
        // Until here a guard that is stopped is killed.
        watching.sync {}
        awaitGuard()
        let end = GuardedCommand.guards.withLock { guards in
            guards.remove(guardProcess)
            return ChildProcess.End(awaiting: guardProcess)
        }
        guard end != .exit(0) else { return }
        GuardedCommand.killOrphans()
        squall_remove_folder(folder)
    }
}
