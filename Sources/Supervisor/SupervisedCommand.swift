import EventLoop
import OperatingSystem
import ProxyEngine
import Synchronization

/// A command in front of its user whose connections, and those of everything it starts, go through a proxy of this process.
package final class SupervisedCommand: Sendable {
    private let supervision: Supervision
    private let command = Mutex<ForegroundCommand?>(nil)

    /// A command under `supervision`.
    package init(_ supervision: Supervision) { self.supervision = supervision }

    /// Runs a command to its end and that of every process below it.
    ///
    /// - Parameters:
    ///   - words: the arguments of this program that run `ForegroundCommand.runGuard` with the command.
    ///   - environment: the command's; `nil` is that of this process.
    ///   - descriptors: those of this process that the command has, if they are open; `nil` for all.
    ///   - proxy: the proxy of this process through which connections go.
    ///   - rules: which ones.
    /// - Returns: how the command has ended; `nil` if its guard was killed.
    /// - Throws: `SupervisionProblem` if it can't be run; nothing is left then.
    package func run(
        guardedBy words: [String],
        in environment: [String: String]? = nil,
        keeping descriptors: Set<Int32>? = nil,
        through proxy: Proxy,
        _ rules: SupervisionRules
    ) async throws(SupervisionProblem) -> ChildProcess.End? {
        let command: ForegroundCommand
        let started = try await supervision.start {
            Result { () throws(SystemError) in
                try ForegroundCommand.start(guardedBy: words, environment, keeping: descriptors)
            }
        }
        do throws(SystemError) {
            command = try started.get()
        } catch {
            throw .notStarted(error)
        }
        supervision.serve(by: proxy, rules)
        let result = await Threads.run { [self] in
            Result { () throws(SupervisionProblem) in try follow(command) }
        }
        self.command.withLock { $0 = nil }
        await supervision.end()
        return try result.get()
    }

    /// Has new connections go through another proxy, which takes the place of the one before.
    package func redirect(to proxy: Proxy) { supervision.redirect(to: proxy) }

    /// Sends a signal to the command; returns whether it runs.
    package func send(_ signal: Int32) -> Bool {
        command.withLock { command in
            command?.send(signal)
            return command != nil
        }
    }

    /// Follows the guard's reports to its end.
    private func follow(_ command: ForegroundCommand) throws(SupervisionProblem) -> ChildProcess.End? {
        guard case .tested(let code)? = command.next() else { return nil }
        guard code == TestConnect.works else {
            throw .forbidden(SystemError(call: GuardedCommand.supervisingCall, code: code))
        }
        // The guard starts the command.
        command.send(0)
        // Not before: the guard would take a signal for its start.
        self.command.withLock { $0 = command }
        var end: ChildProcess.End?
        var problem: SupervisionProblem?
        // To the end of the guard, which would stay without.
        while let report = command.next() {
            switch report {
            case .tested: break
            case .startFailed(let code): problem = .notStarted(SystemError(call: "posix_spawn", code: code))
            case .ended(let found):
                end = found
                self.command.withLock { $0 = nil }
            }
        }
        if let problem { throw problem }
        return end
    }
}
