import Units

/// Keeps wake-ups for the changes of faults apart while nothing moves: one in 5 ms, after 16 that are on time.
///
/// A wake-up of an idle loop costs a processor some 40 µs. A duty cycle may change every millisecond, and 256 faults may
/// take turns, so that an idle proxy would be busy with looking at faults that have nobody to act on.
public struct WakeSpacing: Sendable {
    /// The time from one wake-up to the next, in the long run: 5 ms.
    public static let interval: Int64 = 5_000_000
    /// The wake-ups that are on time after a while without one: 16.
    public static let burst: Int64 = 16

    private var planned = Moment.distantFuture
    /// When all of the burst is there again.
    private var full = Moment(nanoseconds: .min)

    /// Spacing before the first wake-up.
    public init() {}

    /// When to wake up for a change at `change`, if it is `now`, which never goes back.
    public mutating func wake(for change: Moment, now: Moment) -> Moment {
        if now >= planned { full = max(full, now).advanced(byNanoseconds: WakeSpacing.interval) }
        let earliest = full.advanced(byNanoseconds: -WakeSpacing.burst * WakeSpacing.interval)
        // Those that have to wait come at the same moments, whatever connection they are of, so they share a wake-up.
        planned = change
        if earliest > change {
            planned = WakeSpacing.shared(notBefore: earliest)
            full = planned.advanced(byNanoseconds: WakeSpacing.burst * WakeSpacing.interval)
        }
        return planned
    }

    /// The first multiple of the interval that isn't before `moment`.
    private static func shared(notBefore moment: Moment) -> Moment {
        let rest = moment.nanoseconds % interval
        return rest == 0 ? moment : moment.advanced(byNanoseconds: rest > 0 ? interval - rest : -rest)
    }

    /// Something has moved: the next wake-ups are on time again.
    public mutating func refresh() { full = Moment(nanoseconds: .min) }
}
