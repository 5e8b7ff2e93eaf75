import FaultProfile
import Units

/// A receiver that takes bytes slowly: a rate that saves nothing up, so that the rest stays with the sender.
///
/// What makes the sender feel it at once is the window, which is no stage: whoever opens the sockets bounds
/// their receive buffers, see `ConnectionPlan.receiveWindow`.
struct SlowReaderStage: FaultStage {
    private var rate: BandwidthStage

    init(_ reader: SlowReader) {
        rate = BandwidthStage(Bandwidth(rate: reader.rate))
    }

    var traits: StageTraits { rate.traits }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        rate.advance(progress, &context)
    }

    mutating func settle(at availableEnd: Int64, now: Moment) { rate.settle(at: availableEnd, now: now) }
}

extension SlowReader: PlannedFault {
    var receiveWindow: ByteCount? { window }

    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.rate, .slowReader(Box(SlowReaderStage(self))))
    }
}
