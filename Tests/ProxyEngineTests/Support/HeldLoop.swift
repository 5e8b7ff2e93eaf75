import Dispatch
import EventLoop
import Units

/// A loop that stands still until it is let go, and meanwhile takes no time of a processor.
final class HeldLoop: Sendable {
    private let isFree = DispatchSemaphore(value: 0)
    private let hasGoneOn = Slot<Void>()

    /// Holds `loop`; returns once it stands still, for which the thread waits.
    init(_ loop: EventLoop) throws {
        let (isFree, hasGoneOn, isHeld) = (isFree, hasGoneOn, Slot<Void>())
        loop.post {
            isHeld.put(())
            isFree.wait()
            hasGoneOn.put(())
        }
        try isHeld.next()
    }

    /// Lets it go on. Calling it twice is fine.
    func letGo() { isFree.signal() }

    /// Lets it go on at `moment`, by a timer of another loop.
    func letGo(at moment: Moment, by clock: EventLoop) {
        clock.post { [isFree] in Alarm.set(to: moment, on: clock) { isFree.signal() } }
    }

    /// Returns when the loop has gone on.
    func waitUntilFree() throws { try hasGoneOn.next() }
}

/// A timer that calls once.
private final class Alarm: LoopHandler {
    private let loop: EventLoop
    private let call: () -> Void
    private var timer: LoopTimer?
    /// The loop keeps no reference.
    private var itself: Alarm?

    private init(_ loop: EventLoop, _ call: @escaping () -> Void) {
        self.loop = loop
        self.call = call
    }

    static func set(to moment: Moment, on loop: EventLoop, _ call: @escaping () -> Void) {
        let alarm = Alarm(loop, call)
        let timer = LoopTimer(loop: loop, handler: alarm, tag: 0)
        (alarm.timer, alarm.itself) = (timer, alarm)
        timer.set(to: moment)
    }

    override func timerFired(_ tag: Int) {
        call()
        if let timer { loop.deferRelease(timer) }
        loop.deferRelease(self)
        (timer, itself) = (nil, nil)
    }
}
