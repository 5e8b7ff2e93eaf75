/// A point on a monotonic clock, in nanoseconds since an origin that the clock's owner chose.
///
/// Pure modules never read a clock: they are handed a `Moment`. Arithmetic saturates, so that a
/// moment "for ever from now" is `distantFuture` and stays there.
public struct Moment: Comparable, Hashable, Sendable {
    /// Nanoseconds since the clock's origin.
    public var nanoseconds: Int64

    /// Makes a moment. `nanoseconds` may be any value.
    @inlinable
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The origin of the clock.
    @inlinable public static var zero: Moment { Moment(nanoseconds: 0) }
    /// Later than every moment that a clock reaches.
    @inlinable public static var distantFuture: Moment { Moment(nanoseconds: .max) }

    /// Whether `left` is the earlier.
    @inlinable
    public static func < (left: Moment, right: Moment) -> Bool { left.nanoseconds < right.nanoseconds }

    /// The moment `nanoseconds` later, which may be negative; saturates at `distantFuture`.
    @inlinable
    public func advanced(byNanoseconds nanoseconds: Int64) -> Moment {
        let (sum, overflow) = self.nanoseconds.addingReportingOverflow(nanoseconds)
        return Moment(nanoseconds: overflow ? (nanoseconds > 0 ? .max : .min) : sum)
    }

    /// The nanoseconds from `other` to this moment, as from `-`, but without a `Duration`, whose conversion costs more.
    @inlinable
    public func nanoseconds(since other: Moment) -> Int64 { nanoseconds.subtractingSaturated(other.nanoseconds) }

    /// The moment a duration later; saturates at `distantFuture`.
    @inlinable
    public static func + (moment: Moment, duration: Duration) -> Moment {
        moment.advanced(byNanoseconds: duration.nanoseconds)
    }

    /// The time from `right` to `left`, negative when `left` is the earlier.
    @inlinable
    public static func - (left: Moment, right: Moment) -> Duration {
        .nanoseconds(left.nanoseconds.subtractingSaturated(right.nanoseconds))
    }
}

extension Duration {
    /// The whole nanoseconds of this duration, saturated to the range of `Int64` (292 years).
    @inlinable
    public var nanoseconds: Int64 {
        // Most are below 9 s, and divided by one instruction.
        if let few = Int64(exactly: attoseconds) { return few / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The whole milliseconds of this duration, saturated to the range of `Int64`.
    package var wholeMilliseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000_000_000) }
}

extension Int64 {
    /// This number less `other`, held within the range of `Int64`.
    @inlinable
    public func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// This number plus `other`, held within the range of `Int64`.
    @inlinable
    public func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }
}
