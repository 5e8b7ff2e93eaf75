import CLibevent
import Glibc
import Units

/// A moment at which a handler is called, once for each time it is set.
///
/// Waking a thread that sleeps takes the system some 50 µs. A timer therefore has itself woken that much
/// before its moment, and waits out on the processor what is left of it, so that it is called on time
/// and never early.
public final class LoopTimer {
    /// How long before its moment a timer has itself woken, and so how long it may keep the loop at
    /// most: 50 µs.
    private static let lead: Int64 = 50_000
    /// A sleep of this and more lets the processor go so deep that waking takes longer than the lead: 2 ms.
    private static let deepSleep: Int64 = 2_000_000
    /// How long before the lead such a sleep is broken off; what is left is slept lightly: 200 µs.
    private static let lightSleep: Int64 = 200_000

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
        arm(loop.now.nanoseconds, for: moment)
    }

    /// Has libevent fire `lead` before `moment`, unless that is too near for it to matter.
    private func arm(_ now: Int64, for moment: Moment) {
        var early = moment.nanoseconds.subtractingSaturated(LoopTimer.lead)
        if early.subtractingSaturated(now) > LoopTimer.deepSleep { early -= LoopTimer.lightSleep }
        let moment = early.subtractingSaturated(now) > LoopTimer.lead ? Moment(nanoseconds: early) : moment
        // libevent counts whole microseconds of the same clock: from the one that has begun to the one by
        // which the moment has come, so that it has when the handler is called.
        let microseconds = moment.nanoseconds <= now ? 0 : (moment.nanoseconds - 1) / 1_000 + 1 - now / 1_000
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
        if let moment {
            var now = loop.now
            if moment.nanoseconds.subtractingSaturated(now.nanoseconds) > LoopTimer.lead {
                arm(now.nanoseconds, for: moment)
                return
            }
            while now < moment { now = loop.now }
        }
        moment = nil
        handler.timerFired(tag)
    }
}
