/// How long before its moment a timer has the loop woken: about as long as the system needs to wake the loop, three times
/// of four.
///
/// That differs between machines and between hours by a factor of ten: a processor that has slept deeply wakes late. A
/// lead that is too short makes timers late, and one that is too long keeps a loop awake for nothing.
struct WakeLead {
    /// The bounds: 20 and 200 µs.
    static let shortest: Int64 = 20_000
    static let longest: Int64 = 200_000
    /// By how much a wake-up changes the lead: 6 µs up when it came later than the lead, or 2 µs down. So it settles
    /// where one of four comes later.
    private static let stepUp: Int64 = 6_000
    private static let stepDown: Int64 = 2_000

    /// The lead, in nanoseconds.
    private(set) var nanoseconds: Int64 = 50_000

    /// A loop was woken so many nanoseconds later than it should have been.
    mutating func note(lateness: Int64) {
        nanoseconds =
            lateness > nanoseconds
            ? min(nanoseconds + WakeLead.stepUp, WakeLead.longest)
            : max(nanoseconds - WakeLead.stepDown, WakeLead.shortest)
    }
}
