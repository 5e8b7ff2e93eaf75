import Units

/// Tracks how late a link is asked, so that its rates can catch up.
///
/// A link asked after its wake time was delayed by the machine and not by the network, so a rate catches up on that time,
/// up to `limit`. A full sink is no lateness: what it doesn't take is lost, apart from `BandwidthStage.latenessAllowance`.
struct Lateness: Sendable {
    /// The most lateness that a rate catches up on: 10 s, so that a suspended machine doesn't send minutes at once.
    static let limit: Int64 = 10_000_000_000
    /// The most time after a late call in which the source may still be catching up: 250 ms.
    static let longestRecovery: Int64 = 250_000_000

    /// The link's wake time; `Int64.max` if only an event changes its answer.
    private var due = Int64.max
    /// The wake time of the last late call, and until when rates catch up on it.
    private var since = Int64.max
    private var until = Int64.min

    mutating func ask(at now: Int64) -> CatchUp {
        let allowance = now.subtractingSaturated(BandwidthStage.latenessAllowance)
        let isLate = now > due
        if isLate {
            let lateness = now - due
            since = now > until ? due : min(since, due)
            until = max(until, now.addingSaturated(min(lateness, Self.longestRecovery)))
            // A second call at this moment isn't late.
            due = .max
        }
        guard now <= until else { return CatchUp(from: allowance, until: .min, isLate: false) }
        let from = max(min(since, allowance), now.subtractingSaturated(Self.limit))
        return CatchUp(from: from, until: until, isLate: isLate)
    }

    mutating func wait(until wake: Int64) { due = wake }

    /// No call is due until the sink takes bytes again.
    mutating func sinkIsFull() { due = .max }
}

/// The time that a rate catches up on.
struct CatchUp {
    /// The start, in nanoseconds.
    var from = Int64.min
    /// Until when the source may still be catching up after a late call; `Int64.min` if there was none.
    var until = Int64.min
    var isLate = false
}
