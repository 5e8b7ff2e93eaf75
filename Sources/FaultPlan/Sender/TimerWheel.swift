import Units

/// The timers of a Linux kernel with 250 Hz, in nanoseconds: the longer a time-out is, the coarser its firings.
///
/// A time-out of less than 63 ticks fires at a tick, one of less than 63 · 8 at every eighth, and so on. It is never early,
/// and late by up to an eighth. Without it long outages end up to 6 % too soon.
struct TimerWheel {
    /// A tick: 4 ms.
    static let tick: Int64 = VirtualSender.tick
    /// The time after which all its clocks have come around, for the longest time-outs of TCP.
    static let turn: Int64 = 512 * tick
    private static let slots: Int64 = 63

    /// The time on the kernel's clock when the times of the caller begin.
    let start: Int64

    /// A time-out in whole ticks.
    static func whole(_ timeOut: Int64) -> Int64 { timeOut.addingSaturated(tick - 1) / tick * tick }

    /// When a time-out that is set at `moment` fires. Both are at most some days.
    func firing(of timeOut: Int64, setAt moment: Int64) -> Int64 {
        let ticks = Self.whole(timeOut) / Self.tick
        var grain: Int64 = 1
        while ticks >= Self.slots * grain, grain < 512 { grain *= 8 }
        let due = start.addingSaturated(moment) / Self.tick + ticks
        return (due / grain + 1) * grain * Self.tick - start
    }
}
