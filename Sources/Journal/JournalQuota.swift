import FaultPlan
import Units

/// Limits the entries of a journal by fault and in total in each second, so that no profile fills a disk.
///
/// Dropped entries are counted by fault and reported when the second is over. Time is that of the entries.
public struct JournalQuota: Sendable {
    /// Entries of one fault of a proxy in a second: 2,000, twice what a corruption reports of one connection.
    public static let faultLimit = 2_000
    /// Entries of all faults in a second: 4,000, less than 1 MB of lines.
    public static let limit = 4_000
    /// Entries of a fault in a second that are always taken: 10.
    public static let quietLimit = 10

    /// Dropped entries of a fault.
    public struct Omission: Hashable, Sendable {
        /// The proxy's name.
        public let proxy: String
        /// The fault's name.
        public let fault: String
        /// How many entries.
        public let count: Int
    }

    private struct Source: Hashable {
        let proxy: String
        let fault: String
    }

    private var second = Int64.min
    private var taken = 0
    private var takenOf: [Source: Int] = [:]
    private var omitted: [Source: Int] = [:]
    /// The number of dropped entries so far.
    public private(set) var omissions = 0

    /// Makes an unused quota.
    public init() {}

    /// Whether an entry is taken, and what was dropped in the previous second if that is over.
    public mutating func admit(_ entry: JournalEntry) -> (isTaken: Bool, omissions: [Omission]) {
        var ended: [Omission] = []
        let second = entry.moment.nanoseconds / 1_000_000_000
        // A late entry of the previous second counts in the current one.
        if second > self.second {
            ended = takeOmissions()
            (self.second, taken) = (second, 0)
            takenOf.removeAll(keepingCapacity: true)
        }
        let source = Source(proxy: entry.proxy, fault: entry.fault)
        let count = takenOf[source, default: 0]
        guard count < JournalQuota.faultLimit, taken < JournalQuota.limit || count < JournalQuota.quietLimit else {
            omitted[source, default: 0] += 1
            omissions += 1
            return (false, ended)
        }
        takenOf[source] = count + 1
        taken += 1
        return (true, ended)
    }

    /// Takes the unreported dropped entries, in the order of names.
    public mutating func takeOmissions() -> [Omission] {
        guard !omitted.isEmpty else { return [] }
        defer { omitted.removeAll() }
        return omitted.map { Omission(proxy: $0.key.proxy, fault: $0.key.fault, count: $0.value) }
            .sorted { ($0.proxy, $0.fault) < ($1.proxy, $1.fault) }
    }
}
