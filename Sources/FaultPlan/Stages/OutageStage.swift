import FaultProfile
import Units

/// An outage by silence: nothing enters or leaves the link. Bytes in flight are held, and continue when the outage is over,
/// or when the backed-off retransmission timer of a TCP sender would have fired.
///
/// The stage closes the near end of the link, so that no rate is used and no backlog builds up, and the far end through
/// `StageContext.isPaused`.
struct OutageStage: FaultStage {
    /// The round trip of the sender whose timer decides, in nanoseconds; `nil` if bytes continue at once.
    private let roundTrip: Int64?
    /// How long after the outage has begun the last acknowledgement comes, in nanoseconds.
    private let lastAcknowledgement: Int64
    /// The timers of the sender's kernel, with the time on its clock as bytes begin to wait.
    private let wheel: TimerWheel
    private var announcement = Announcement()
    /// Since when bytes have waited, and their sender's timer.
    private var waiting: (since: Moment, timer: RetransmissionTimer)?
    /// When bytes continue after the outage.
    private var resumption: Moment?

    init(_ outage: Outage, key: RandomKey) {
        switch outage.recovery {
        case .immediate: roundTrip = nil
        case .tcpBackoff(let time): roundTrip = time?.nanoseconds ?? 0
        }
        // Acknowledgements on their way still come, for up to a round trip: that depends on where the path fails.
        lastAcknowledgement = Int64(Double(roundTrip ?? 0) * key.fraction(at: 0))
        wheel = TimerWheel(start: Int64(Double(TimerWheel.turn) * key.fraction(at: 1)))
    }

    var traits: StageTraits { StageTraits(measuresAvailability: true) }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            announcement.end(at: context.delivered)
            return recovering(progress, &context)
        }
        resumption = nil
        if progress.availableEnd > context.delivered {
            wait(for: progress.bytesAtAvailableEnd - context.delivered, from: context.now)
            if announcement.begin(at: context.delivered) { context.effect = .silences }
        }
        return silent(progress, &context)
    }

    private mutating func recovering(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard let (since, timer) = waiting else { return progress }
        let passed = context.now.nanoseconds.subtractingSaturated(since.nanoseconds)
        let moment = resumption ?? since.advanced(byNanoseconds: timer.firing(notBefore: passed))
        guard context.now < moment else {
            waiting = nil
            resumption = nil
            return progress
        }
        resumption = moment
        context.wake(at: moment)
        return silent(progress, &context)
    }

    /// Sets the timer of a sender with `count` bytes, unless bytes wait already.
    private mutating func wait(for count: Int64, from now: Moment) {
        guard let roundTrip, waiting == nil else { return }
        let isSingle = count <= VirtualSender.segment
        let timer = RetransmissionTimer(
            roundTrip: roundTrip,
            isSingle: isSingle,
            sinceLoss: isSingle ? 0 : lastAcknowledgement,
            wheel: wheel
        )
        waiting = (now, timer)
    }

    private func silent(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        context.isPaused = true
        return progress.withNothingAvailable
    }
}

extension Outage: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.outage, .outage(Box(OutageStage(self, key: place.key))))
    }

    var terminator: ConnectionTerminators.Cause? { how == .silence ? .silence : .outage }

    /// A refusal of all connections is made by not listening.
    func gateRole(isForEverybody: Bool) -> AdmissionFault.Role? { isForEverybody && how == .refuse ? .refuses : nil }
}
