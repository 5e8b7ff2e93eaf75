import Units

/// A moment at which a handler is called, once for each time it is set.
///
/// Waking a thread that sleeps takes the system a while. A timer therefore has the loop woken before its moment, by as
/// much as that has taken lately (`WakeLead`), and the loop stays awake until then, so that the timer is called on time
/// and never early.
public final class LoopTimer {
    private let loop: EventLoop
    /// Here as well, because a reference to it through the loop would be counted.
    private let queue: TimerQueue
    private var handler: Unmanaged<LoopHandler>?
    private let tag: Int
    /// Whether it may be called as late as the system makes it, and costs nothing for being on time.
    let isCoarse: Bool
    /// The place among the loop's timers; −1 while it isn't set.
    var place = -1
    /// The moment that the timer is set to, if it is.
    public private(set) var moment: Moment?

    /// Makes a timer of `loop` that isn't set. `handler` must live as long as the timer is set. One that is coarse is
    /// called up to some 100 µs late, without a wait on the processor.
    public convenience init(loop: EventLoop, handler: LoopHandler, tag: Int, isCoarse: Bool = false) {
        self.init(loop: loop, tag: tag, isCoarse: isCoarse)
        serve(handler)
    }

    /// Makes a timer that has no handler yet.
    public init(loop: EventLoop, tag: Int, isCoarse: Bool = false) {
        loop.preconditionOnLoop()
        self.loop = loop
        queue = loop.timers
        self.tag = tag
        self.isCoarse = isCoarse
    }

    /// Calls `handler` from now on, which must live as long as the timer is set.
    public func serve(_ handler: LoopHandler) { self.handler = .passUnretained(handler) }

    deinit {
        if place >= 0 { queue.remove(self) }
    }

    /// Sets the timer to `moment`, in place of any moment before; one that has passed fires in the next turn.
    public func set(to moment: Moment) {
        loop.preconditionOnLoop()
        if self.moment == moment { return }
        self.moment = moment
        queue.set(self, to: moment, now: loop.now)
    }

    /// Takes the timer's moment away, if it has one.
    public func cancel() {
        loop.preconditionOnLoop()
        guard moment != nil else { return }
        moment = nil
        queue.remove(self)
    }

    func fire() {
        moment = nil
        handler?._withUnsafeGuaranteedRef { $0.timerFired(tag) }
    }
}
