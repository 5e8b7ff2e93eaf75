import CLibevent
import Glibc

/// A signal of the process, or a descriptor that can be read, delivered as a call on a loop. Only one loop of a process can
/// watch signals.
public final class EventSource {
    private let loop: EventLoop
    private let watcher: UnsafeMutablePointer<event>
    private let action: () -> Void

    /// Watches `signal` and calls `action` on `loop` each time; must be created on the loop.
    public convenience init(signal: Int32, on loop: EventLoop, action: @escaping () -> Void) {
        self.init(signal, EV_SIGNAL, loop, action)
    }

    /// Calls `action` on `loop` in each turn in which `descriptor` can be read or has an error; must be created on the loop,
    /// and cancelled before the descriptor is closed.
    package convenience init(readable descriptor: Int32, on loop: EventLoop, action: @escaping () -> Void) {
        self.init(descriptor, EV_READ, loop, action)
    }

    private init(_ number: Int32, _ what: Int32, _ loop: EventLoop, _ action: @escaping () -> Void) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.action = action
        watcher = .allocate(capacity: 1)
        watcher.initialize(to: event())
        event_assign(
            watcher,
            loop.base,
            number,
            Int16(what | EV_PERSIST),
            { _, _, context in
                guard let context else { return }
                Unmanaged<EventSource>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.action() }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
        event_add(watcher, nil)
    }

    /// Stops watching; a signal has its earlier handling again.
    public func cancel() {
        loop.preconditionOnLoop()
        event_del(watcher)
    }

    deinit {
        event_del(watcher)
        watcher.deallocate()
    }
}
