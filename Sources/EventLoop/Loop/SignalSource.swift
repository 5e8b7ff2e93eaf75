import CLibevent
import Glibc

/// A signal of the process, delivered as a call on a loop. Only one loop of a process can watch signals.
public final class SignalSource {
    private let loop: EventLoop
    private let watcher: UnsafeMutablePointer<event>
    private let action: () -> Void

    /// Watches `signal` and calls `action` on `loop` each time; must be created on the loop.
    public init(_ signal: Int32, on loop: EventLoop, action: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.action = action
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: event())
        event_assign(
            watcher,
            loop.base,
            signal,
            Int16(EV_SIGNAL | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<SignalSource>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.action() }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        event_add(watcher, nil)
    }

    /// Stops watching and restores the signal's earlier handling.
    public func cancel() {
        loop.preconditionOnLoop()
        event_del(watcher)
    }

    deinit {
        event_del(watcher)
        watcher.deallocate()
    }
}
