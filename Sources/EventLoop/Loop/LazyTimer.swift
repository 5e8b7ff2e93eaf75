import Units

/// The timer of a handler that may never need one: it is made when it is first set.
public struct LazyTimer: ~Copyable {
    /// Not a strong reference, because its use would be counted.
    private var timer: Unmanaged<LoopTimer>?

    /// An unset timer.
    public init() {}

    deinit { timer?.release() }

    /// Sets the timer to `moment`, replacing any earlier setting. The handler and the tag are those of the first call; the
    /// handler must live as long as the timer is set.
    public mutating func set(to moment: Moment, for handler: LoopHandler, tag: Int, on loop: EventLoop) {
        let timer = self.timer ?? .passRetained(LoopTimer(loop: loop, handler: handler, tag: tag))
        self.timer = timer
        timer._withUnsafeGuaranteedRef { $0.set(to: moment) }
    }

    /// Unsets the timer.
    public func cancel() {
        timer?._withUnsafeGuaranteedRef { $0.cancel() }
    }
}
