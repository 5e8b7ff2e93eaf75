import Units

/// A moment at which a handler is called, once for each time it is set.
///
/// Waking a thread that sleeps takes the system a while. A timer therefore has the loop woken before its moment, by as
/// much as that has taken lately (`WakeLead`), and the loop stays awake until then, so that the timer is called on time
/// and never early.
public final class LoopTimer {
    private let loop: EventLoop
    /// Kept here, because a reference through the loop would be counted.
    private let queue: TimerQueue
    private let handler: Unmanaged<LoopHandler>
    private let tag: Int
    /// Whether the timer may fire as late as the system wakes the loop.
    let isCoarse: Bool
    /// The index among the loop's timers; −1 while unset.
    @exclusivity(unchecked) var place = -1
    /// The moment of the timer, if set.
    @exclusivity(unchecked) public private(set) var moment: Moment?

    /// Makes an unset timer. `handler` must live as long as the timer is set. A coarse timer fires up to some 100 µs late,
    /// without busy waiting.
    public init(loop: EventLoop, handler: LoopHandler, tag: Int, isCoarse: Bool = false) {
        loop.preconditionOnLoop()
        self.loop = loop
        queue = loop.timers
        self.handler = .passUnretained(handler)
        self.tag = tag
        self.isCoarse = isCoarse
    }

    deinit {
        if place >= 0 { queue.remove(self) }
    }

    /// Sets the timer to `moment`, replacing any earlier setting; a past moment fires in the next turn.
    public func set(to moment: Moment) {
        loop.preconditionOnLoop()
        if self.moment == moment { return }
        self.moment = moment
        queue.set(self, to: moment, now: loop.now)
    }

    /// Unsets the timer.
    public func cancel() {
        loop.preconditionOnLoop()
        guard moment != nil else { return }
        moment = nil
        queue.remove(self)
    }

    func fire() {
        moment = nil
        handler._withUnsafeGuaranteedRef { $0.timerFired(tag) }
    }
}
