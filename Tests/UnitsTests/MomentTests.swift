import Testing
import Units

struct MomentTests {
    private static let durations: [(duration: Duration, nanoseconds: Int64)] = [
        (.zero, 0), (.nanoseconds(1), 1), (.nanoseconds(-1), -1), (.seconds(9), 9_000_000_000),
        (.seconds(10), 10_000_000_000), (.seconds(-10), -10_000_000_000), (.nanoseconds(Int64.max), .max),
        (.nanoseconds(Int64.min), .min), (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
        (Duration(secondsComponent: 0, attosecondsComponent: 1_999_999_999), 1),
        (Duration(secondsComponent: 0, attosecondsComponent: -1_999_999_999), -1),
        (Duration(secondsComponent: 20, attosecondsComponent: 999_999_999), 20_000_000_000),
        (Duration(secondsComponent: -20, attosecondsComponent: -999_999_999), -20_000_000_000),
    ]

    @Test(arguments: MomentTests.durations)
    func `a duration has whole nanoseconds, within the range of Int64`(duration: Duration, nanoseconds: Int64) {
        #expect(duration.nanoseconds == nanoseconds)
    }

    @Test func `a moment for ever from now stays there`() {
        #expect(Moment.zero + .seconds(Int64.max) == .distantFuture)
        #expect(Moment.distantFuture + .seconds(1) == .distantFuture)
        #expect(Moment.distantFuture - Moment(nanoseconds: -1) == .nanoseconds(Int64.max))
        #expect(Moment(nanoseconds: 5) - Moment(nanoseconds: 7) == .nanoseconds(-2))
    }
}
