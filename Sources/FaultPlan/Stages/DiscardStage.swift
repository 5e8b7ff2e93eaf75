import FaultProfile
import Units

/// Watches a stream whose bytes `DiscardedBytes` drops, and closes the connection: when no byte has come for a time, and
/// when the fault goes off after bytes were lost. The end of the stream passes.
struct DiscardStage: FaultStage {
    private let closeAfter: Int64?
    /// When the last byte came, or the fault came on; `nil` while it is off.
    private var quietSince: Moment?
    private(set) var hasLostBytes = false

    init(_ discard: Discard) {
        closeAfter = discard.closeAfter?.nanoseconds
    }

    /// Notes that bytes of the stream were dropped at `now`, by this fault or another one.
    mutating func bytesVanished(at now: Moment, byOwn isOwn: Bool) {
        if isOwn { hasLostBytes = true }
        if isOwn || quietSince != nil { quietSince = now }
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        if progress.hasEnded { return progress }
        context.needsWindowWake = true
        guard context.isActive else {
            quietSince = nil
            if hasLostBytes { context.close() }
            return progress
        }
        context.isDiscarding = true
        let since = quietSince ?? context.now
        quietSince = since
        if let closeAfter {
            let due = since.advanced(byNanoseconds: closeAfter)
            if context.now >= due { context.close() } else { context.close(at: due) }
        }
        return progress
    }
}

/// Drops every byte while its fault is on.
struct DiscardedBytes: StreamAlterer {
    static let drops = true

    /// The offset after the bytes that were spared.
    private var nextOffset: Int64 = 0
    private var isReported = false

    var hasRate: Bool { true }

    func next(vanished: Int64) -> Int64 { nextOffset }

    mutating func alter(index: Int64, available: Int64) -> Altered {
        defer { isReported = true }
        let effect = isReported ? nil : Altered.Effect(effect: .discards, hasOffset: false)
        return Altered(alteration: .drop(index: index, count: available), reported: effect)
    }

    mutating func spare(before offset: Int64) { nextOffset = max(nextOffset, offset) }

    mutating func miss() {}
    mutating func note(_ mark: Mark) {}
    mutating func vanished(_ range: Range<Int64>) {}
}

extension Discard: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? { (.end, .discard(DiscardStage(self))) }

    func alterer(in place: StagePlace) -> Alterer? { .discard(DiscardedBytes()) }
}
