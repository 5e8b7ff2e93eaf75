import EventLoop
import OperatingSystem
import ProxyEngine
import Synchronization

/// A command in front of its user whose connections, and those of everything it starts, go through a proxy of this process.
package final class SupervisedCommand: Sendable {
    private struct State {
        /// The guard, from when it has begun to its end.
        var guardian: ForegroundCommand?
        /// Whether the command runs.
        var isRunning = false
    }

    private let supervision: Supervision
    private let state = Mutex(State())

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
    ///   - ended: called when the command has ended, and processes that it has started may live; on any thread.
    /// - Returns: how the command has ended; `nil` if its guard was killed.
    /// - Throws: `SupervisionProblem` if it can't be run; nothing is left then.
    package func run(
        guardedBy words: [String],
        in environment: [String: String]? = nil,
        keeping descriptors: Set<Int32>? = nil,
        through proxy: Proxy,
        _ rules: SupervisionRules,
        ended: @escaping @Sendable () -> Void
    ) async throws(SupervisionProblem) -> ChildProcess.End? {
        let command: ForegroundCommand
        let result: Result<ChildProcess.End?, SupervisionProblem>
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
        do throws(SystemError) {
            result = try await DetachedThread.run { [self] in
                Result { () throws(SupervisionProblem) in try follow(command, ended) }
            }
        } catch {
            // The guard ends with its channel.
            result = .failure(.notStarted(error))
        }
        state.withLock { $0 = State() }
        await supervision.end()
        return try result.get()
    }

    /// Has new connections go through another proxy, which takes the place of the one before.
    package func redirect(to proxy: Proxy) { supervision.redirect(to: proxy) }

    /// Sends a signal to the command; returns whether it runs.
    package func send(_ signal: Int32) -> Bool {
        state.withLock { state in
            if state.isRunning { state.guardian?.send(signal) }
            return state.isRunning
        }
    }

    /// Kills the command and all that it has started, and waits until they are gone, 10 s at most.
    package func kill() { state.withLock { $0.guardian }?.kill() }

    /// Follows the guard's reports to its end.
    private func follow(
        _ command: ForegroundCommand,
        _ ended: () -> Void
    ) throws(SupervisionProblem) -> ChildProcess.End? {
        guard case .tested(let code)? = command.next() else { return nil }
        guard code == TestConnect.works else {
            throw .forbidden(SystemError(call: GuardedCommand.supervisingCall, code: code))
        }
        // The guard starts the command.
        command.send(0)
        // Not before: the guard would take a signal for its start.
        state.withLock { $0 = State(guardian: command, isRunning: true) }
        var end: ChildProcess.End?
        var problem: SupervisionProblem?
        // To the end of the guard, which would stay without.
        while let report = command.next() {
            switch report {
            case .tested: break
            case .startFailed(let code): problem = .notStarted(SystemError(call: "posix_spawn", code: code))
            case .ended(let found):
                end = found
                state.withLock { $0.isRunning = false }
                ended()
            }
        }
        if let problem { throw problem }
        return end
    }
}
