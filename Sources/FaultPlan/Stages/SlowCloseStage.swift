import FaultProfile
import Units

/// Delays the end of the stream after its last byte.
struct SlowCloseStage: FaultStage {
    private let delay: Int64
    /// When the end may pass; set when every byte has been delivered.
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
        return progress.clamped(to: progress.bytes)
    }

    mutating func withdrawEnd(after position: Int64) { due = nil }
}

extension SlowClose: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.lateEnd, .slowClose(SlowCloseStage(self)))
    }
}
