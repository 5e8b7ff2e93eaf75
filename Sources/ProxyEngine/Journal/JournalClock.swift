import FoundationEssentials
import OperatingSystem
import Units

/// The wall-clock time of moments, from one reading of both clocks.
package struct JournalClock: Sendable {
    /// A reading that the whole process shares.
    package static let shared = JournalClock()

    private let date: Date
    private let moment: Moment

    init() {
        (date, moment) = (Date(), MonotonicClock.now)
    }

    /// The time of `moment` in UTC (RFC 3339), with milliseconds.
    package func time(of moment: Moment) -> String {
        let since = Double((moment - self.moment).nanoseconds) / 1e9
        return date.addingTimeInterval(since).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
