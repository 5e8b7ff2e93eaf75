import FaultProfile
import Units

/// Holds the end of the stream, and nothing else, for a time after its last byte has gone.
struct SlowCloseStage: FaultStage {
    private let delay: Int64
    /// When the end may pass, once every byte before it has been handed over.
    private var due: Moment?

    init(_ close: SlowClose) {
        delay = close.delay.nanoseconds
    }

    mutating func advance(_ reach: Reach, _ visit: inout Visit) -> Reach {
        guard visit.isActive, reach.hasEnded else { return reach }
        if visit.delivered >= reach.bytes, due == nil {
            due = visit.now.advanced(byNanoseconds: delay)
            visit.effect = .closesLate
        }
        if let due {
            if visit.now >= due { return reach }
            visit.wake(at: due)
        }
        var passing = reach
        passing.clamp(to: reach.bytes)
        return passing
    }
}

extension SlowClose: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.lateEnd, .slowClose(SlowCloseStage(self)))
    }
}
