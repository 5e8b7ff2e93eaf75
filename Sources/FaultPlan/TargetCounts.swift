import FaultProfile

/// Counts the connections to each target.
struct TargetCounts: Sendable {
    /// The most targets with a count of their own: 16,384. Further ones share a count.
    static let limit = 16_384

    private var counts: [HostName: UInt64] = [:]
    private var others: UInt64 = 0

    /// The number of the next connection to a target, from 1.
    mutating func next(_ target: HostName) -> UInt64 {
        // Names are the same in capital letters.
        let target = HostName(target.host.lowercased(), port: target.port)
        guard counts[target] != nil || counts.count < TargetCounts.limit else {
            others += 1
            return others
        }
        counts[target, default: 0] += 1
        return counts[target] ?? 1
    }
}
