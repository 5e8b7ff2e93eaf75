import CProcess
import Glibc
import Units

/// The process that runs a command for another one, so that nothing is left behind however that one ends.
///
/// It makes a folder, runs the command in a process group of its own, and stays until the other process closes its socket
/// or dies. When the command ends, its descendants are killed, wherever they have gone. At the end the folder is removed.
public enum CommandGuard {
    /// How long a command has to end by SIGTERM before SIGKILL: 2 s.
    public static let stopPatience = Duration.seconds(2)

    /// Runs the guard: standard input is the socket of a `GuardedCommand`. Returns when all is done.
    ///
    /// With `isSupervised` it first tests whether connections can be redirected, and runs no command if they can't.
    public static func run(folder: String, isSupervised: Bool) {
        let socket = STDIN_FILENO
        let children = squall_open_child_signals()
        guard children >= 0, squall_adopt_orphans() == 0 else {
            return GuardProtocol.write(.startFailed, children < 0 ? -children : ENOSYS, to: socket)
        }
        guard mkdir(folder, 0o700) == 0 else { return GuardProtocol.write(.folderFailed, errno, to: socket) }
        GuardProtocol.write(.ready, 0, to: socket)
        if let line = command(from: socket) {
            let code = isSupervised ? TestConnect.run() : TestConnect.works
            if code == TestConnect.works {
                run(line.arguments, line.environment, socket, children)
            } else {
                GuardProtocol.write(.notSupervised, code, to: socket)
                waitForEnd(of: socket)
            }
        }
        squall_remove_folder(folder)
    }

    private static func command(from socket: Int32) -> (arguments: [String], environment: [String: String])? {
        guard let bytes = GuardProtocol.read(8, from: socket) else { return nil }
        let count = bytes.withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        guard (1...Int64(GuardProtocol.commandLimit)).contains(count),
            let body = GuardProtocol.read(Int(count), from: socket)
        else { return nil }
        return GuardProtocol.decode(body)
    }

    /// Runs the command, reports its end, and waits for the end of the other process.
    private static func run(_ arguments: [String], _ environment: [String: String], _ socket: Int32, _ children: Int32)
    {
        let process: pid_t
        do throws(SystemError) {
            process = try ProgramStart.run(arguments, environment, .inheritedOutputs)
        } catch {
            GuardProtocol.write(.startFailed, error.code, to: socket)
            return waitForEnd(of: socket)
        }
        guard let status = watch(process, socket, children) else { return Descendants.killAll() }
        Descendants.killAll()
        GuardProtocol.write(ChildProcess.End(status: status), to: socket)
        waitForEnd(of: socket)
    }

    /// Waits for the command's end and returns its status; `nil` if the other process has gone before.
    private static func watch(_ process: pid_t, _ socket: Int32, _ children: Int32) -> Int32? {
        var killTime: Moment?
        while true {
            var sources = [
                pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
                pollfd(fd: children, events: Int16(POLLIN), revents: 0),
            ]
            let wait = killTime.map { max(0, ($0 - MonotonicClock.now).nanoseconds / 1_000_000 + 1) } ?? -1
            _ = poll(&sources, 2, Int32(clamping: wait))
            if sources[0].revents != 0 {
                guard let byte = GuardProtocol.read(1, from: socket) else { return nil }
                if byte[0] == GuardProtocol.stop, killTime == nil {
                    send(SIGTERM, to: process)
                    killTime = MonotonicClock.now + stopPatience
                }
            }
            if let time = killTime, MonotonicClock.now >= time {
                send(SIGKILL, to: process)
                // Nothing more is due: `children` becomes readable when the command has ended.
                killTime = nil
            }
            if sources[1].revents != 0 {
                squall_drain_child_signals(children)
                if let status = reap(lookingFor: process) { return status }
            }
        }
    }

    /// Sends a signal to the group of a command that hasn't been waited for, and to the command itself if it has left the group.
    private static func send(_ number: Int32, to process: pid_t) {
        _ = kill(-process, number)
        if getpgid(process) != process { _ = kill(process, number) }
    }

    /// Takes note of every child that has ended; returns the status of `process` if it is one of them.
    private static func reap(lookingFor process: pid_t) -> Int32? {
        var (status, found): (Int32, Int32?) = (0, nil)
        while true {
            let child = waitpid(-1, &status, WNOHANG)
            guard child > 0 else { return found }
            if child == process { found = status }
        }
    }

    /// Waits until the other process closes its socket or dies.
    private static func waitForEnd(of socket: Int32) {
        while GuardProtocol.read(1, from: socket) != nil {}
    }
}
