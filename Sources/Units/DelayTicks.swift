/// The tick marks of an axis of delays: round numbers of microseconds, milliseconds or seconds.
package struct DelayTicks {
    /// The ticks above zero, the last of which is the end of the axis.
    package let delays: [Duration]

    /// The ticks of an axis whose last tick is `longest` or the next one above it, `count` at most.
    package init(covering longest: Duration, count: Int) {
        let microseconds = max(1, Double(longest.nanoseconds) / 1_000)
        let step = RoundNumber.step(atLeast: max(1, microseconds / Double(max(1, count))))
        let last = max(1, Int((microseconds / step - 1e-9).rounded(.up)))
        delays = (1...last).map { .nanoseconds(Int64(Double($0) * step * 1_000)) }
    }

    /// "200 ms", "1.5 s": a tick in the unit of the last one.
    package func text(_ delay: Duration) -> String {
        let end = delays.last?.nanoseconds ?? 0
        let unit: (name: String, nanoseconds: Double) =
            end >= 1_000_000_000 ? ("s", 1e9) : end >= 1_000_000 ? ("ms", 1e6) : ("µs", 1e3)
        return "\(RoundNumber.text(Double(delay.nanoseconds) / unit.nanoseconds)) \(unit.name)"
    }
}
