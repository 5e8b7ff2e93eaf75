import FaultProfile
import Units

/// An outage by silence: nothing enters or leaves the link. Bytes in flight are held, and continue when the outage is over,
/// or when the backed-off retransmission timer of a TCP sender would have fired.
///
/// The stage closes the near end of the link, so that no rate is used and no backlog builds up, and the far end through
/// `StageContext.isPaused`.
struct OutageStage: FaultStage {
    private let timer: RetransmissionTimer?
    private var announcement = Announcement()
    /// Since when bytes have waited.
    private var waitingSince: Moment?
    /// When bytes continue after the outage.
    private var resumption: Moment?

    init(_ outage: Outage, key: RandomKey) {
        switch outage.recovery {
        case .immediate:
            timer = nil
        case .tcpBackoff(let roundTrip):
            let timer = RetransmissionTimer(roundTrip: roundTrip?.nanoseconds ?? 0)
            // The timer has run for a part of a round trip when an outage begins. The range, 10 % less to 3 % more,
            // makes a gap of 5.5 to 6.5 s of an outage of 5 s; 5.8 to 5.9 s were measured with CUBIC.
            let phase = 0.9 + 0.13 * key.fraction(at: 0)
            self.timer = RetransmissionTimer(first: Int64(Double(timer.first) * phase))
        }
    }

    var traits: StageTraits { StageTraits(measuresAvailability: true) }

    mutating func advance(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard context.isActive else {
            announcement.end(at: context.delivered)
            return recovering(progress, &context)
        }
        resumption = nil
        if progress.availableEnd > context.delivered {
            waitingSince = waitingSince ?? context.now
            if announcement.begin(at: context.delivered) { context.effect = .silences }
        }
        return silent(progress, &context)
    }

    private mutating func recovering(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        guard let timer, let since = waitingSince else { return progress }
        let passed = context.now.nanoseconds.subtractingSaturated(since.nanoseconds)
        let moment = resumption ?? since.advanced(byNanoseconds: timer.firing(notBefore: passed))
        guard context.now < moment else {
            waitingSince = nil
            resumption = nil
            return progress
        }
        resumption = moment
        context.wake(at: moment)
        return silent(progress, &context)
    }

    private func silent(_ progress: StreamProgress, _ context: inout StageContext) -> StreamProgress {
        context.isPaused = true
        var output = progress
        output.availableEnd = progress.position
        return output
    }
}

extension Outage: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.outage, .outage(OutageStage(self, key: place.key)))
    }

    var terminator: ConnectionTerminators.Cause? { how == .silence ? nil : .outage }

    /// A refusal of all connections is made by not listening.
    func gateRole(isForEverybody: Bool) -> Gate.Role? { isForEverybody && how == .refuse ? .refuses : nil }
}
