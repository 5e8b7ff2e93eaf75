import EventLoop
import Foundation
import Glibc
import Synchronization

/// Ctrl-C, SIGTERM and the closing of the terminal (SIGHUP) as something that can be waited for. A second Ctrl-C or
/// SIGTERM ends the process at once, and the programs that it runs with it. A second SIGHUP doesn't: a terminal that
/// closes may well send two, itself and through its shell.
final class Interrupt: Sendable {
    private struct State {
        var count = 0
        /// Whether SIGINT or SIGTERM was among them.
        var wasAsked = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var sources: Resident<[SignalSource]>?
    }

    private let state = Mutex(State())

    /// Watches the signals on `loop` for the rest of the process's life.
    static func watch(on loop: EventLoop) async throws(SystemError) -> Interrupt {
        let interrupt = Interrupt()
        let sources = try await loop.run {
            let watched = Interrupt.signals.map { number in
                SignalSource(number, on: loop) { interrupt.arrive(number) }
            }
            return Resident(watched, on: loop)
        }
        interrupt.state.withLock { $0.sources = sources }
        return interrupt
    }

    /// Returns when one of the signals has come.
    func wait() async {
        await withCheckedContinuation { continuation in
            let hasCome = state.withLock { state in
                if state.count == 0 { state.waiters.append(continuation) }
                return state.count > 0
            }
            if hasCome { continuation.resume() }
        }
    }

    private func arrive(_ number: Int32) {
        let (isRepeated, waiters) = state.withLock { state in
            state.count += 1
            let isRepeated = number != SIGHUP && state.wasAsked
            // A terminal that closes, and a manager of services, may send SIGHUP and then SIGTERM.
            if number != SIGHUP { state.wasAsked = true }
            defer { state.waiters = [] }
            return (isRepeated, state.waiters)
        }
        if isRepeated { ChildProcess.exitWithGroups(128 + number) }
        for waiter in waiters { waiter.resume() }
    }

    /// The signals that are watched: SIGHUP only where nobody asked to have it ignored, as nohup(1) does.
    private static var signals: [Int32] { [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) }

    /// Whether the process ignores a signal, as the system tells it, see proc_pid_status(5).
    private static func isIgnored(_ signal: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let digits = status.firstMatch(of: /SigIgn:\s*([0-9a-f]+)/)?.output.1
        let ignored = digits.flatMap { UInt64($0, radix: 16) } ?? 0
        return ignored >> (signal - 1) & 1 == 1
    }
}
