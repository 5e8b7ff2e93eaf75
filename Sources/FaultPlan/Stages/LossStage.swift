import FaultProfile
import Units

/// Packet loss as a stream shows it: bytes leave when a virtual TCP sender on a lossy path would have
/// delivered them. None is ever dropped.
///
/// The sender has a buffer, as a socket has: whether more follows a lost segment decides when its loss is noticed, and
/// what the system keeps of a stream in front of the proxy may be less than a window.
struct LossStage: FaultStage {
    /// What the virtual receiver takes in before whoever is behind the link has taken it, at least: 1 MiB.
    static let receiveBuffer: Int64 = 1 << 20

    /// The bytes that the sender's buffer takes beside two windows: 64 KiB.
    static let sendBuffer: Int64 = 64 << 10

    private var sender: VirtualSender
    private var announcement = Announcement()
    /// Whoever comes later than this may find that there was no room for what would have been sent: a round trip, or
    /// the time in which the link carries half of the least room.
    let latenessAllowance: Int64

    var traits: StageTraits { StageTraits(holds: true, isSender: true, measuresAvailability: true, isPaced: true) }

    /// What it has worked out so far, see `Link.work`.
    var work: Int { sender.steps }

    init(_ loss: Loss, key: RandomKey) {
        sender = VirtualSender(loss, key: key)
        latenessAllowance = max(
            loss.roundTrip.nanoseconds,
            loss.link.nanoseconds(forBytes: Self.receiveBuffer / 2)
        )
    }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            sender.pause(at: context.now.nanoseconds)
            announcement.end(at: context.passed)
            return progress
        }
        let now = context.now.nanoseconds
        if context.passed > sender.released { sender.begin(at: context.passed, now: now) }
        let wanted = progress.bytesAtAvailableEnd
        // A receiver that takes nothing closes the window, so the sender gets no further ahead of it than this.
        let room = max(Self.receiveBuffer, sender.windowBytes.addingSaturated(sender.windowBytes))
        var firstLoss: Int64?
        let wake = sender.deliver(
            upTo: min(wanted, context.settled.addingSaturated(room)),
            now: now,
            since: context.catchUp.from,
            firstLoss: &firstLoss
        )
        if let firstLoss, announcement.begin(at: context.passed) {
            context.effect = .loses
            context.effectOffset = firstLoss
        }
        // What follows a hole has been sent, and waits for what is missing.
        let windows = sender.windowBytes.addingSaturated(sender.windowBytes)
        context.takeLimit = sender.sent.addingSaturated(windows).addingSaturated(Self.sendBuffer)
        guard wanted > sender.released else { return progress }
        context.wake(at: Moment(nanoseconds: wake))
        var passing = progress
        passing.clamp(to: sender.released)
        passing.isThrottled = true
        return passing
    }
}

extension Loss: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.loss, .loss(Box(LossStage(self, key: place.key))))
    }

    /// Packets of the handshake are lost, too.
    func begin(_ dialFaults: inout DialFaults, in place: DialContext) {
        if place.isNarrowed { return }
        dialFaults.add(ConnectDelay(self, fault: place.fault, key: place.key.adding("connect")))
    }
}
