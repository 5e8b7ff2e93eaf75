import CProcess
import Dispatch
import Glibc
import Synchronization

/// A command that runs under a guard, with a folder of its own: nothing of it is left behind, however this process ends.
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
    }

    private let guardProcess: pid_t
    private let control: Int32
    private let output: Int32
    private let isReleased = Mutex(false)
    private let queue = DispatchQueue(label: "squall.command")

    private init(guardProcess: pid_t, control: Int32, output: Int32) {
        (self.guardProcess, self.control, self.output) = (guardProcess, control, output)
    }

    /// Starts the guard, which makes `folder` with access for its owner only.
    ///
    /// - Parameters:
    ///   - folder: a path at which nothing is.
    ///   - arguments: those with which this program runs the guard of that folder.
    /// - Throws: `SystemError` of socketpair, pipe, posix_spawn or mkdir.
    public static func start(folder: String, guardedBy arguments: [String]) async throws(SystemError) -> GuardedCommand
    {
        let result: Result<GuardedCommand, SystemError> = await withCheckedContinuation { continuation in
            DispatchQueue(label: "squall.command.start").async {
                continuation.resume(
                    returning: Result { () throws(SystemError) in try startWaiting(folder: folder, arguments) }
                )
            }
        }
        return try result.get()
    }

    private static func startWaiting(folder: String, _ arguments: [String]) throws(SystemError) -> GuardedCommand {
        // With SIGCHLD ignored, waiting for children doesn't work.
        signal(SIGCHLD, SIG_DFL)
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
            process = try ProgramStart.runSelf(arguments, .descriptors(input: sockets[1], output: pipes[1]))
        } catch {
            close(sockets[0])
            close(pipes[0])
            throw error
        }
        let command = GuardedCommand(guardProcess: process, control: sockets[0], output: pipes[0])
        switch GuardProtocol.report(from: sockets[0]) {
        case (.ready, _)?: return command
        case (let report, let number)?:
            command.releaseWaiting()
            throw SystemError(call: report == .folderFailed ? "mkdir" : "prctl", code: number)
        case nil:
            command.releaseWaiting()
            throw SystemError(call: "posix_spawn", code: ECHILD)
        }
    }

    /// Runs the program `arguments[0]`, a path or a name in PATH, to its end, and kills what it leaves running.
    ///
    /// - Parameter take: called with what the command writes to standard output and standard error, in order, on another
    ///   thread.
    /// - Throws: `SystemError` of posix_spawn; ENOENT if there is no such program; ECHILD if the guard was killed.
    public func run(
        _ arguments: [String],
        environment: [String: String],
        output take: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(SystemError) -> End {
        let result: Result<End, SystemError> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                continuation.resume(
                    returning: Result { () throws(SystemError) in try runWaiting(arguments, environment, take) }
                )
            }
        }
        return try result.get()
    }

    private func runWaiting(
        _ arguments: [String],
        _ environment: [String: String],
        _ take: ([UInt8]) -> Void
    ) throws(SystemError) -> End {
        let message = GuardProtocol.encode(arguments, environment)
        guard message.count <= GuardProtocol.commandLimit else { throw SystemError(call: "posix_spawn", code: E2BIG) }
        try GuardProtocol.write(message, to: control)
        while true {
            var sources = [
                pollfd(fd: control, events: Int16(POLLIN), revents: 0),
                pollfd(fd: output, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&sources, 2, -1) >= 0 || errno == EINTR else { throw .last("poll") }
            if sources[1].revents != 0 { readOutput(take) }
            guard sources[0].revents != 0 else { continue }
            guard let (report, number) = GuardProtocol.report(from: control) else {
                throw SystemError(call: "waitpid", code: ECHILD)
            }
            // The command and its descendants have ended, and all of their output is in the pipe.
            readOutput(take)
            switch report {
            case .exit: return .exit(number)
            case .signal: return .signal(number)
            case .startFailed: throw SystemError(call: "posix_spawn", code: number)
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

    /// Stops the command: SIGTERM to its process group, and SIGKILL after `CommandGuard.stopPatience`. Does nothing once it
    /// has ended.
    public func stop() {
        isReleased.withLock { isReleased in
            if !isReleased { try? GuardProtocol.write([GuardProtocol.stop], to: control) }
        }
    }

    /// Ends the guard, which removes the folder, and waits for it. To be called when `run` has returned, or in its place.
    public func release() async {
        await withCheckedContinuation { continuation in
            queue.async { [self] in
                releaseWaiting()
                continuation.resume()
            }
        }
    }

    private func releaseWaiting() {
        let wasReleased = isReleased.withLock { isReleased in
            defer { isReleased = true }
            return isReleased
        }
        guard !wasReleased else { return }
        close(control)
        close(output)
        var status: Int32 = 0
        while waitpid(guardProcess, &status, 0) < 0, errno == EINTR {}
    }
}
