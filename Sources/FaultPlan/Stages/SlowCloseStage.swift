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

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive, progress.hasEnded else { return progress }
        if context.delivered >= progress.bytes, due == nil {
            due = context.now.advanced(byNanoseconds: delay)
            context.effect = .closesLate
        }
        if let due {
            if context.now >= due { return progress }
            context.wake(at: due)
        }
        var passing = progress
        passing.clamp(to: progress.bytes)
        return passing
    }
}

extension SlowClose: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.lateEnd, .slowClose(SlowCloseStage(self)))
    }
}
