import Glibc
import Units

/// The signals that ask this process to end: the first one asks, and a second one doesn't wait any longer.
///
/// One that comes soon after the first belongs to it: timeout(1) signals a process and then its group, a terminal that closes
/// sends SIGHUP as its shell does, and a service manager sends SIGTERM and then SIGHUP. A SIGTERM behind a SIGHUP is a
/// first one: SIGHUP may have asked for less, as to read a configuration anew.
package struct EndSignals: Sendable {
    /// What a signal means.
    package enum Meaning: Sendable {
        case first
        /// It belongs to the first.
        case repetition
        case second
    }

    /// How soon after the first one a signal belongs to it: less than 1 s.
    package static let interval = Duration.seconds(1)

    private var first: (number: Int32, moment: Moment)?

    package init() {}

    /// What the signal `number` means that comes now.
    package mutating func next(_ number: Int32, at now: Moment) -> Meaning {
        guard let first, first.number != SIGHUP || number != SIGTERM else {
            first = (number, now)
            return .first
        }
        return now - first.moment < EndSignals.interval ? .repetition : .second
    }
}
