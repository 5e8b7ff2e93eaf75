/// How long before its moment a timer wakes the loop: the time that the system needs to wake it, in three of four cases.
///
/// The time varies tenfold between machines and load. A short lead makes timers late; a long one wastes processor time.
struct WakeLead {
    /// The bounds: 20 and 200 µs.
    static let shortest: Int64 = 20_000
    static let longest: Int64 = 200_000
    /// The change of the lead after a wake-up: 6 µs up if it was later than the lead, else 2 µs down, so that it settles
    /// where one of four is later.
    private static let stepUp: Int64 = 6_000
    private static let stepDown: Int64 = 2_000

    /// The lead, in nanoseconds.
    private(set) var nanoseconds: Int64 = 50_000

    /// Notes a wake-up that was late by a number of nanoseconds.
    mutating func note(lateness: Int64) {
        nanoseconds =
            lateness > nanoseconds
            ? min(nanoseconds + WakeLead.stepUp, WakeLead.longest)
            : max(nanoseconds - WakeLead.stepDown, WakeLead.shortest)
    }
}
