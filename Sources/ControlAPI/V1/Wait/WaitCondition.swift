import FaultProfile
import ProxyEngine
import Units

/// A condition on the counters of proxies: "accepted >= 3".
struct WaitCondition: Hashable, Sendable {
    /// A counter.
    enum Metric: String, CaseIterable {
        /// Open connections.
        case connections
        /// The same as `connections`.
        case open
        /// Connections that were accepted so far.
        case accepted
        /// Connections whose upstream couldn't be reached.
        case failed
        /// Events of faults.
        case faults
        /// Bytes passed on, in both directions.
        case bytes

        /// Whether the counter never falls.
        var onlyGrows: Bool {
            switch self {
            case .connections, .open: false
            case .accepted, .failed, .faults, .bytes: true
            }
        }

        func value(_ statistics: Statistics) -> Int64 {
            switch self {
            case .connections, .open: Int64(statistics.open)
            case .accepted: Int64(clamping: statistics.accepted)
            case .failed: Int64(clamping: statistics.failed)
            case .faults: Int64(clamping: statistics.faultEvents.values.reduce(0, +))
            case .bytes: statistics.upstreamBytes + statistics.downstreamBytes
            }
        }
    }

    let metric: Metric
    let comparison: Comparison
    let number: Int64
    /// The value from which the counter counts.
    var baseline: Int64 = 0

    /// Reads a counter, a comparison and a whole number, with spaces between them or not.
    init(_ text: String) throws(ControlError) {
        let word = text.trimmed.prefix { $0.isLetter }
        let rest = text.trimmed.dropFirst(word.count).trimmed
        let comparison = Comparison.allCases.first { rest.hasPrefix($0.rawValue) }
        guard let metric = Metric(rawValue: String(word)), let comparison,
            let number = Int64(rest.dropFirst(comparison.rawValue.count).trimmed), number >= 0
        else {
            let metrics = Metric.allCases.map(\.rawValue).joined(separator: ", ")
            let comparisons = Comparison.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalid(
                "\(text.quoted) isn't a condition: write one of \(metrics), one of \(comparisons) and a whole number "
                    + "from 0 to \(Int64.max), such as “accepted >= 3”"
            )
        }
        (self.metric, self.comparison, self.number) = (metric, comparison, number)
    }

    func holds(_ value: Int64) -> Bool { comparison.holds(value - baseline, number) }
}
