import FaultProfile
import Units

/// Packet loss as seen in a stream: bytes leave when a virtual TCP sender on a lossy path would have delivered them. No
/// byte is dropped.
///
/// The sender has a send buffer, because bytes that follow a lost segment decide when its loss is detected, and the
/// system may buffer less than a window in front of the proxy.
struct LossStage: FaultStage {
    /// The least receive buffer of the virtual receiver: 1 MiB.
    static let receiveBuffer: Int64 = 1 << 20

    private var sender: VirtualSender
    private let receiveWindow: Int64?
    private var announcement = Announcement()
    /// A round trip, or the time in which the link carries half of the least receive buffer: a later call may find the
    /// buffer full.
    let latenessAllowance: Int64

    var traits: StageTraits { StageTraits(holds: true, isSender: true, measuresAvailability: true, isPaced: true) }

    var work: Int { sender.steps }

    init(_ loss: Loss, key: RandomKey, losing lost: VirtualSender.Losses) {
        sender = VirtualSender(loss, key: key, losing: lost)
        receiveWindow = loss.receiveWindow?.bytes
        latenessAllowance = max(
            loss.roundTrip.nanoseconds,
            loss.link.nanoseconds(forBytes: Self.receiveBuffer / 2)
        )
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            sender.pause()
            announcement.end(at: context.passed)
            return progress
        }
        let now = context.now.nanoseconds
        if context.passed > sender.released { sender.begin(at: context.passed, now: now) }
        let wanted = progress.bytesAtAvailableEnd
        // A receiver that takes nothing closes the window.
        let room = receiveWindow ?? max(Self.receiveBuffer, sender.windowBytes.addingSaturated(sender.windowBytes))
        var limit = min(wanted, context.settled.addingSaturated(room))
        if var feed = context.feed {
            limit = sender.take(&feed, upTo: limit, since: context.catchUp.from, now: now)
            context.feed = feed
        }
        let wake = sender.deliver(upTo: limit, of: wanted, now: now, since: context.catchUp.from)
        if let firstLoss = sender.firstLoss, announcement.begin(at: context.passed) {
            context.effect = .loses
            context.effectOffset = firstLoss
        }
        sender.firstLoss = nil
        context.takeLimit = sender.roomEnd
        guard wanted > sender.released else { return progress }
        context.wake(at: Moment(nanoseconds: wake))
        return progress.throttled(at: sender.released)
    }
}

extension Loss: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        var lost: VirtualSender.Losses = []
        if place.acts(on: place.direction) { lost.insert(.packets) }
        if place.acts(on: place.direction.opposite), !place.isNarrowed { lost.insert(.acknowledgements) }
        return (.loss, .loss(Box(LossStage(self, key: place.key, losing: lost))))
    }

    /// The other direction's acknowledgements are lost with the bytes of this one. Messages have none.
    func reaches(_ direction: Direction, from fault: Fault) -> Bool {
        fault.acts(on: direction) || fault.condition.http == nil
    }

    /// Packets of the handshake are lost as well.
    func addDialFaults(to dial: inout DialFaults, in place: DialContext) {
        if place.isNarrowed { return }
        dial.add(ConnectDelay(self, fault: place.fault, key: place.key.adding("connect")))
    }
}
