import EventLoop
import Foundation
import Glibc
import Synchronization
import SystemPackage

/// Ctrl-C, SIGTERM and the closing of the terminal (SIGHUP) as something that can be waited for. A second Ctrl-C or
/// SIGTERM ends the process at once, and the programs that it runs with it. A second SIGHUP doesn't: a terminal that
/// closes may well send two, itself and through its shell.
///
/// Where a program is to read its files again at SIGHUP, only one that comes with the end of its terminal ends it.
final class Interrupt: Sendable {
    private struct State {
        var count = 0
        /// Whether SIGINT or SIGTERM was among them.
        var wasAsked = false
        var waiters: [CheckedContinuation<Void, Never>] = []
        var sources: LoopBound<[SignalSource]>?
    }

    private let state = Mutex(State())
    /// What SIGHUP does while the terminal is there, or never was.
    private let reload: (@Sendable () -> Void)?
    private let hadTerminal: Bool

    private init(reload: (@Sendable () -> Void)?) {
        self.reload = reload
        hadTerminal = reload != nil && Interrupt.hasTerminal
    }

    /// Watches the signals on `loop` for the rest of the process's life. With `reload`, SIGHUP calls that, on the loop, and
    /// ends nothing as long as the process has the terminal that it began with, if any.
    static func watch(
        on loop: EventLoop,
        reload: (@Sendable () -> Void)? = nil
    ) async throws(SystemError) -> Interrupt {
        let interrupt = Interrupt(reload: reload)
        let sources = try await loop.run {
            let watched = Interrupt.signals.map { number in
                SignalSource(number, on: loop) { interrupt.arrive(number) }
            }
            return LoopBound(watched, on: loop)
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
        if number == SIGHUP, let reload, !hadTerminal || Interrupt.hasTerminal { return reload() }
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

    /// Whether the process has a controlling terminal; the system takes it away when it hangs up, see tty(4).
    private static var hasTerminal: Bool {
        let options: SystemPackage.FileDescriptor.OpenOptions = [.nonBlocking, .closeOnExec]
        guard
            let terminal = try? SystemPackage.FileDescriptor.open(FilePath("/dev/tty"), .readOnly, options: options)
        else { return false }
        try? terminal.close()
        return true
    }

    /// Whether the process ignores a signal, as the system tells it, see proc_pid_status(5).
    private static func isIgnored(_ signal: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let digits = status.firstMatch(of: /SigIgn:\s*([0-9a-f]+)/)?.output.1
        let ignored = digits.flatMap { UInt64($0, radix: 16) } ?? 0
        return ignored >> (signal - 1) & 1 == 1
    }
}
