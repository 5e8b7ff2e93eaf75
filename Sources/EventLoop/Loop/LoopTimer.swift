import CLibevent
import Glibc
import Units

/// A moment at which a handler is called, once for each time it is set.
public final class LoopTimer {
    private let loop: EventLoop
    private unowned(unsafe) let handler: LoopHandler
    private let tag: Int
    private let timer: UnsafeMutablePointer<event>
    /// The moment that the timer is set to, if it is.
    public private(set) var moment: Moment?

    /// Makes a timer of `loop` that isn't set. `handler` must live as long as the timer is set.
    public init(loop: EventLoop, handler: LoopHandler, tag: Int) {
        loop.preconditionOnLoop()
        self.loop = loop
        self.handler = handler
        self.tag = tag
        timer = .allocate(capacity: 1)
        timer.initialize(to: event())
        event_assign(
            timer,
            loop.base,
            -1,
            0,
            { _, _, context in
                guard let context else { return }
                Unmanaged<LoopTimer>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.fire() }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit {
        event_del(timer)
        timer.deallocate()
    }

    /// Sets the timer to `moment`, in place of any moment before; one that has passed fires in the next turn.
    public func set(to moment: Moment) {
        loop.preconditionOnLoop()
        if self.moment == moment { return }
        self.moment = moment
        let wait = max(0, moment.nanoseconds.subtractingSaturated(loop.now.nanoseconds))
        // Rounded up to the microsecond, so that the moment has come when the handler is called.
        let microseconds = wait / 1_000 + (wait % 1_000 == 0 ? 0 : 1)
        let seconds = min(microseconds / 1_000_000, 1_000_000_000)
        var interval = timeval(tv_sec: Int(seconds), tv_usec: Int(microseconds % 1_000_000))
        event_add(timer, &interval)
    }

    /// Takes the timer's moment away, if it has one.
    public func cancel() {
        loop.preconditionOnLoop()
        guard moment != nil else { return }
        moment = nil
        event_del(timer)
    }

    private func fire() {
        moment = nil
        handler.timerFired(tag)
    }
}
