import FaultProfile
import Units

/// A slow receiver: a rate without burst, so that the rest stays with the sender.
///
/// The small window is no stage: the engine bounds the receive buffers of the sockets, see `ConnectionPlan.receiveWindow`.
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
