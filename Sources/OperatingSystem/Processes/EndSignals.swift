import Units

/// The signals that ask this process to end: the first one asks, and a second one doesn't wait any longer.
///
/// One that comes soon after the first belongs to it: timeout(1) signals a process and then its group, a terminal that closes
/// sends SIGHUP as its shell does, and a service manager sends SIGTERM and then SIGHUP.
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

    private var first: Moment?

    package init() {}

    /// What a signal means that comes now.
    package mutating func next(at now: Moment) -> Meaning {
        guard let first else {
            first = now
            return .first
        }
        return now - first < EndSignals.interval ? .repetition : .second
    }
}
