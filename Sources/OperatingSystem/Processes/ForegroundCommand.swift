import CProcess
import Glibc

/// A command that takes this process's place in front of its user: with its terminal, process group, input and outputs.
///
/// Its guard, this program once more, starts it, and stays as long as a process below it lives. When this process dies, the
/// guard kills them all.
package final class ForegroundCommand: Sendable {
    /// What the guard tells.
    package enum Report: Hashable, Sendable {
        /// The guard runs. `TestConnect` has failed with this errno value.
        case tested(Int32)
        /// The command can't be started, for this errno value.
        case startFailed(Int32)
        /// The command has ended; processes below it may live on.
        case ended(ChildProcess.End)
    }

    private let process: pid_t
    private let socket: Int32

    private init(process: pid_t, socket: Int32) { (self.process, self.socket) = (process, socket) }

    deinit { close(socket) }

    /// Starts the guard, by `guardWords` behind this program's name, as a child of the calling thread: it inherits the thread's
    /// filter of system calls. Behind the first word come `--channel` and the number of its channel. The command has its
    /// environment; `nil` is that of this process. With `descriptors`, such as those from the time before a library opened its
    /// own, it has no others of this process.
    ///
    /// - Throws: `SystemError` of socketpair or posix_spawn.
    package static func start(
        guardedBy guardWords: [String],
        _ environment: [String: String]? = nil,
        keeping descriptors: Set<Int32>? = nil
    ) throws(SystemError) -> ForegroundCommand {
        var sockets: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, type, 0, &sockets) == 0 else { throw .last("socketpair") }
        defer { close(sockets[1]) }
        // With SIGCHLD ignored, waiting for children doesn't work.
        signal(SIGCHLD, SIG_DFL)
        // A guard that is killed leaves its processes to this one.
        _ = squall_adopt_orphans()
        do throws(SystemError) {
            let others = descriptors.map { ProcessLimits.openDescriptors.subtracting($0) } ?? []
            // The number is new here, so that it is none of those that the command has.
            let words = guardWords.prefix(1) + ["--channel", "\(sockets[1])"] + guardWords.dropFirst()
            let streams = ProgramStart.Streams.shared(channel: sockets[1], without: Array(others))
            let process = try ProgramStart.runSelf(Array(words), streams, environment)
            return ForegroundCommand(process: process, socket: sockets[0])
        } catch {
            close(sockets[0])
            throw error
        }
    }

    /// A descriptor that is readable when `process` has ended.
    ///
    /// - Throws: `SystemError` of pidfd_open; ESRCH if there is no such process.
    package static func watched(process: Int32) throws(SystemError) -> Int32 {
        let descriptor = squall_open_process(process)
        guard descriptor >= 0 else { throw SystemError(call: "pidfd_open", code: -descriptor) }
        return descriptor
    }

    /// Waits for what the guard tells next; `nil` when it has ended, and every process below it.
    package func next() -> Report? {
        guard let (report, number) = GuardProtocol.report(from: socket) else {
            // Nothing is left of one that has ended by itself.
            if ChildProcess.End(awaiting: process) != .exit(0) { Descendants.killAll() }
            return nil
        }
        return switch report {
        case .ready, .folderFailed: .tested(number)
        case .startFailed, .notSupervised: .startFailed(number)
        case .exit: .ended(.exit(number))
        case .signal: .ended(.signal(number))
        }
    }

    /// Sends a signal to the command; once that has ended, everything below the guard is killed.
    package func send(_ signal: Int32) { try? GuardProtocol.write([UInt8(clamping: signal)], to: socket) }

    /// Has the guard kill everything below it, and waits until it has ended, 10 s at most. `next` is to be called on another
    /// thread.
    package func kill() {
        // One that has ended by now has no descriptor.
        guard let descriptor = try? ForegroundCommand.watched(process: process) else { return }
        defer { close(descriptor) }
        shutdown(socket, Int32(SHUT_RDWR))
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = poll(&entry, 1, 10_000)
    }

    // MARK: The guard

    /// Runs the guard and the command. Returns when no process is left.
    ///
    /// - Parameters:
    ///   - arguments: the command.
    ///   - channel: the descriptor of the guard's channel, which the command doesn't get.
    ///   - folder: the folder of the run, which is removed at the end; `nil` if there is none.
    package static func runGuard(_ arguments: [String], channel: Int32, folder: String?) {
        defer { if let folder { squall_remove_folder(folder) } }
        _ = fcntl(channel, F_SETFD, FD_CLOEXEC)
        signal(SIGQUIT, SIG_IGN)
        InheritedSignals.ignoreOthers()
        // Stopped, it would miss the end of the other side. That isn't known before: Ctrl-Z stops both.
        _ = squall_continue_without_parent()
        let children = squall_open_child_signals()
        guard children >= 0, squall_adopt_orphans() == 0 else {
            return GuardProtocol.write(.startFailed, children < 0 ? -children : ENOSYS, to: channel)
        }
        GuardProtocol.write(.ready, TestConnect.run(), to: channel)
        // The other side closes the channel if the test has failed.
        guard GuardProtocol.read(1, from: channel) != nil else { return }
        do throws(SystemError) {
            watch(try ProgramStart.run(arguments, nil, .shared(channel: nil)), channel, children)
        } catch {
            GuardProtocol.write(.startFailed, error.code, to: channel)
        }
    }

    /// Stays until no process is left, or kills them when the other side has gone.
    private static func watch(_ process: pid_t, _ channel: Int32, _ children: Int32) {
        var isRunning = true
        while true {
            var sources = [
                pollfd(fd: channel, events: Int16(POLLIN), revents: 0),
                pollfd(fd: children, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&sources, 2, -1)
            squall_drain_child_signals(children)
            var status: Int32 = 0
            var child = waitpid(-1, &status, WNOHANG)
            while child > 0 {
                if child == process {
                    isRunning = false
                    GuardProtocol.write(ChildProcess.End(status: status), to: channel)
                }
                child = waitpid(-1, &status, WNOHANG)
            }
            // ECHILD: none is left.
            if child < 0, errno == ECHILD { return }
            // Last, so that a signal isn't sent to a command that has ended before it came.
            guard sources[0].revents != 0 else { continue }
            // The command has ended: the signal ends its descendants.
            guard let byte = GuardProtocol.read(1, from: channel), isRunning else { return Descendants.killAll() }
            _ = Glibc.kill(process, Int32(byte[0]))
        }
    }
}
