import Units

/// Bytes on their way through a link, so that their delay can be told when they arrive.
struct DelayProbes {
    /// The most bytes followed at a time: 64. More aren't followed until one arrives.
    private static let limit = 64
    /// The fraction of a delay that a late call may add to it.
    private static let fraction: Int64 = 64

    private struct Probe {
        /// The first byte that came with the followed one or before it, and since the probe before.
        var first: Int64
        var offset: Int64
        var taken: Moment
    }

    private var probes: [Probe] = []
    private var passed: Int64 = 0

    /// Follows the last of `arrived` bytes, which the link took at `now`; returns whether it does.
    mutating func note(_ arrived: Int64, at now: Moment) -> Bool {
        let known = max(passed, probes.last?.offset ?? 0)
        guard arrived > known, probes.count < DelayProbes.limit else { return false }
        probes.append(Probe(first: known + 1, offset: arrived, taken: now))
        return true
    }

    /// The delays of the followed bytes that have been delivered by `now`. Of a connection that is over, a followed byte that
    /// hasn't arrived is replaced by the last one that has.
    mutating func takeDelays(delivered: Int64, isOver: Bool, at now: Moment) -> [Duration] {
        passed = delivered
        guard let first = probes.first, first.first <= delivered else { return [] }
        let count = probes.prefix { (isOver ? $0.first : $0.offset) <= delivered }.count
        defer { probes.removeFirst(count) }
        return probes[..<count].map { now - $0.taken }
    }

    /// How late the link may be called, in nanoseconds, without adding much to the delay of a byte that is on its way.
    func latenessAllowance(at now: Moment) -> Int64 {
        probes.first.map { now.nanoseconds(since: $0.taken) / DelayProbes.fraction } ?? .max
    }
}
