import Synchronization

/// Whether a command has started, has opened a connection, and has met a fault.
final class CommandActivity: Sendable {
    private let hasStarted = Mutex(false)
    private let connected = Atomic(false)
    private let faults = Atomic(false)
    private let whenStarted: @Sendable () -> Void

    /// Calls `whenStarted` once, on any thread, when the command is known to have started.
    init(whenStarted: @escaping @Sendable () -> Void) { self.whenStarted = whenStarted }

    /// Whether the command has opened a connection that is to be redirected.
    var hasConnected: Bool { connected.load(ordering: .relaxed) }

    /// Whether a fault has acted.
    var hasFaults: Bool { faults.load(ordering: .relaxed) }

    /// Notes a connection that is to be redirected. Callable on a loop.
    func noteConnection() {
        guard !hasConnected, !connected.exchange(true, ordering: .relaxed) else { return }
        // A loop waits for no file.
        Task.detached { [self] in noteStart() }
    }

    /// Notes a fault that has acted. Callable on a loop.
    func noteFault() {
        if !hasFaults { faults.store(true, ordering: .relaxed) }
    }

    /// Notes that the command has started. Returns when `whenStarted` has.
    func noteStart() {
        hasStarted.withLock { hasStarted in
            guard !hasStarted else { return }
            hasStarted = true
            whenStarted()
        }
    }
}
