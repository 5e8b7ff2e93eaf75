import EventLoop
import Glibc
import Synchronization

/// Ctrl-C and SIGTERM as something that can be waited for. A second one ends the process at once.
final class Interrupt: Sendable {
    private struct State {
        var count = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var sources: Resident<[SignalSource]>?
    }

    private let state = Mutex(State())

    /// Watches the signals on `loop` for the rest of the process's life.
    static func watch(on loop: EventLoop) async throws(SystemError) -> Interrupt {
        let interrupt = Interrupt()
        let sources = try await loop.run {
            let watched = [SIGINT, SIGTERM].map { number in
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
        let (count, waiters) = state.withLock { state in
            state.count += 1
            defer { state.waiters = [] }
            return (state.count, state.waiters)
        }
        if count > 1 { _exit(128 + number) }
        for waiter in waiters { waiter.resume() }
    }
}
