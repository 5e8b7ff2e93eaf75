import Units

/// How late a link is asked, and what its rates make up for because of it.
///
/// A link says when it wants to be asked again. If it is asked later, the machine was busy and not the network, so a rate
/// makes up for all of that time, up to `limit`. A sink that takes nothing is no lateness: what it leaves is lost, apart
/// from `BandwidthStage.latenessAllowance`.
struct Lateness: Sendable {
    /// The lateness that a rate makes up for: 10 s. Beyond it a machine that was suspended would send minutes at once.
    static let limit: Int64 = 10_000_000_000
    /// How long after a late question a source may take to send what it couldn't meanwhile: as long as the question was
    /// late, 250 ms at most.
    static let longestRecovery: Int64 = 250_000_000

    /// When the link wanted to be asked; `Int64.max` when nothing but an event changes its answer.
    private var due = Int64.max
    /// When it wanted to be asked at the last late question, and until when its rates make up for that.
    private var since = Int64.max
    private var until = Int64.min

    /// The link is asked at `now`.
    mutating func ask(at now: Int64) -> CatchUp {
        let allowance = now.subtractingSaturated(BandwidthStage.latenessAllowance)
        let isLate = now > due
        if isLate {
            let lateness = now - due
            since = now > until ? due : min(since, due)
            until = max(until, now.addingSaturated(min(lateness, Self.longestRecovery)))
            // Asked again at this moment, it isn't late.
            due = .max
        }
        guard now <= until else { return CatchUp(from: allowance, until: .min, isLate: false) }
        let from = max(min(since, allowance), now.subtractingSaturated(Self.limit))
        return CatchUp(from: from, until: until, isLate: isLate)
    }

    /// The link wants to be asked at `wake`.
    mutating func wait(until wake: Int64) { due = wake }

    /// Nobody asks before the sink takes bytes again.
    mutating func sinkIsFull() { due = .max }
}

/// What a rate makes up for.
struct CatchUp {
    /// Since when, in nanoseconds on the clock of the link.
    var from = Int64.min
    /// Until when a source that a late question kept from sending may be busy with that; `Int64.min` if none was late.
    var until = Int64.min
    /// Whether the link is asked late.
    var isLate = false
}
