import EventLoop
import FoundationEssentials
import Glibc
import OperatingSystem
import Synchronization
import SystemPackage
import TerminalDisplay

/// Waits for Ctrl-C, SIGTERM or the closing of the terminal (SIGHUP). A second Ctrl-C or SIGTERM kills the process and
/// its child processes, as `EndSignals` has it. A second SIGHUP doesn't.
///
/// With `reload`, SIGHUP is a stop signal only when the terminal has closed.
package final class Interrupt: Sendable {
    private struct State {
        /// SIGINT and SIGTERM.
        var signals = EndSignals()
        var sources: LoopBound<[EventSource]>?
    }

    private let state = Mutex(State())
    private let arrival = FirstValue<Void>()
    /// The action of SIGHUP while the terminal is open, or without one.
    private let reload: (@Sendable () -> Void)?
    private let hadTerminal: Bool

    private init(reload: (@Sendable () -> Void)?) {
        self.reload = reload
        hadTerminal = reload != nil && Interrupt.hasTerminal
    }

    /// Watches the signals on `loop` until the process exits. With `reload`, SIGHUP calls that on the loop, as long as
    /// the process still has the terminal that it started with, if any.
    package static func watch(
        on loop: EventLoop,
        reload: (@Sendable () -> Void)? = nil
    ) async throws(SystemError) -> Interrupt {
        let interrupt = Interrupt(reload: reload)
        let sources = try await loop.run {
            let watched = Interrupt.signals.map { number in
                EventSource(signal: number, on: loop) { interrupt.arrive(number) }
            }
            return LoopBound(watched, on: loop)
        }
        interrupt.state.withLock { $0.sources = sources }
        return interrupt
    }

    /// Watches the signals on a loop of their own, for a command without proxies.
    package static func watch() async throws(CommandFailure) -> Interrupt {
        do throws(SystemError) {
            return try await watch(on: EventLoop())
        } catch {
            throw .failed("can't watch for signals: \(error)")
        }
    }

    /// Whether one of the signals was received.
    package var hasCome: Bool { arrival.current != nil }

    /// Returns when one of the signals was received.
    package func wait() async { await arrival.value }

    /// Runs `work` in a task, which is cancelled when one of the signals is received.
    package func cancelling<Success: Sendable, Failure>(
        _ work: @escaping @Sendable () async throws(Failure) -> Success
    ) async throws(Failure) -> Success {
        let task = Task { () -> Result<Success, Failure> in
            do throws(Failure) { return .success(try await work()) } catch { return .failure(error) }
        }
        Task {
            await wait()
            task.cancel()
        }
        return try await task.value.get()
    }

    private func arrive(_ number: Int32) {
        if number == SIGHUP, let reload, !hadTerminal || Interrupt.hasTerminal { return reload() }
        // A terminal that closes may send it at any time.
        if number != SIGHUP, state.withLock({ $0.signals.next(number, at: MonotonicClock.now) }) == .second {
            ChildProcess.exitWithGroups(128 + number)
        }
        arrival.resolve(())
    }

    /// The watched signals; SIGHUP only if it isn't ignored, as under nohup(1).
    private static var signals: [Int32] { [SIGINT, SIGTERM] + (isIgnored(SIGHUP) ? [] : [SIGHUP]) }

    /// Whether the process has a controlling terminal, which it loses on hangup, see tty(4).
    private static var hasTerminal: Bool {
        let options: SystemPackage.FileDescriptor.OpenOptions = [.nonBlocking, .closeOnExec]
        guard
            let terminal = try? SystemPackage.FileDescriptor.open(FilePath("/dev/tty"), .readOnly, options: options)
        else { return false }
        try? terminal.close()
        return true
    }

    /// Whether the process ignores a signal, see proc_pid_status(5).
    private static func isIgnored(_ signal: Int32) -> Bool {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let digits = status.firstMatch(of: /SigIgn:\s*([0-9a-f]+)/)?.output.1
        let ignored = digits.flatMap { UInt64($0, radix: 16) } ?? 0
        return ignored >> (signal - 1) & 1 == 1
    }
}
