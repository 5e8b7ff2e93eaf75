import FaultProfile
import Units

/// A slow receiver: a rate without burst, so that the rest stays with the sender.
///
/// The small window is no stage: the engine bounds the receive buffers of the sockets, see `ConnectionPlan.receiveWindow`.
extension SlowReader: PlannedFault {
    var receiveWindow: ByteCount? { window }

    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.rate, .bandwidth(Box(BandwidthStage(Bandwidth(rate: rate)))))
    }
}
