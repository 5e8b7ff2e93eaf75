import Units

/// Limits wake-ups for fault changes while nothing moves: one every 5 ms after a burst of 16.
///
/// A wake-up of an idle loop costs about 40 µs of processor time. A duty cycle may change every millisecond and 256
/// faults may take turns, so without a limit an idle proxy would be busy.
public struct WakeSpacing: Sendable {
    /// The time between wake-ups in the long run: 5 ms.
    public static let interval: Int64 = 5_000_000
    /// Wake-ups that are on time after a pause: 16.
    public static let burst: Int64 = 16

    private var planned = Moment.distantFuture
    /// When the burst is available again.
    private var full = Moment(nanoseconds: .min)

    /// Makes a spacing with its full burst.
    public init() {}

    /// When to wake for a change at `change`. `now` never goes back.
    public mutating func wake(for change: Moment, now: Moment) -> Moment {
        if now >= planned { full = max(full, now).advanced(byNanoseconds: WakeSpacing.interval) }
        let earliest = full.advanced(byNanoseconds: -WakeSpacing.burst * WakeSpacing.interval)
        // Delayed wake-ups are rounded to common moments, so that connections share them.
        planned = change
        if earliest > change {
            planned = WakeSpacing.shared(notBefore: earliest)
            full = planned.advanced(byNanoseconds: WakeSpacing.burst * WakeSpacing.interval)
        }
        return planned
    }

    /// The first multiple of the interval at or after `moment`.
    private static func shared(notBefore moment: Moment) -> Moment {
        let rest = moment.nanoseconds % interval
        return rest == 0 ? moment : moment.advanced(byNanoseconds: rest > 0 ? interval - rest : -rest)
    }

    /// Restores the burst, because something has moved.
    public mutating func refresh() { full = Moment(nanoseconds: .min) }
}
