import Units

/// Which entries a journal takes, so that no profile fills a disk: so many in a second of a fault, and of all together.
///
/// Entries that are left out are counted by fault, and told once the second is over. A value without a clock: the
/// moments of the entries are what counts.
public struct JournalQuota: Sendable {
    /// Entries of a fault of one proxy in a second: 2,000, what a corruption by rate tells of one connection.
    public static let faultLimit = 2_000
    /// Entries of all faults in a second: 4,000, less than 1 MB of lines.
    public static let limit = 4_000
    /// The first entries of a fault in a second, which are taken however many others come: 10.
    public static let quietLimit = 10

    /// Entries of a fault that were left out.
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
    /// The entries that were left out so far.
    public private(set) var omissions = 0

    /// A quota of which nothing is used.
    public init() {}

    /// Whether an entry is taken, and what was left out in the second before, if that is over now.
    public mutating func take(_ entry: JournalEntry) -> (isTaken: Bool, omissions: [Omission]) {
        var ended: [Omission] = []
        let second = entry.moment.nanoseconds / 1_000_000_000
        // Loops may tell of a second that has just passed; it counts with the one that has begun.
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

    /// What was left out and hasn't been told yet, in the order of the names.
    public mutating func takeOmissions() -> [Omission] {
        guard !omitted.isEmpty else { return [] }
        defer { omitted.removeAll() }
        return omitted.map { Omission(proxy: $0.key.proxy, fault: $0.key.fault, count: $0.value) }
            .sorted { ($0.proxy, $0.fault) < ($1.proxy, $1.fault) }
    }
}
