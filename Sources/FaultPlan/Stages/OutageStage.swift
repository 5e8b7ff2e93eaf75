import FaultProfile
import Units

/// An outage by silence: from the moment it comes on nothing enters the link and nothing leaves it;
/// what is in flight is held, and all of it goes on when the outage is over, or when a TCP sender whose
/// retransmission timer has doubled meanwhile would have found out.
///
/// It closes both ends of the link: here the near one, so that no rate is used up meanwhile and no
/// backlog builds up to burst out afterwards; and through `StageContext.isPaused` the far one.
struct OutageStage: FaultStage {
    private let timer: RetransmissionTimer?
    private var announcement = Announcement()
    /// Since when something has waited.
    private var waitingSince: Moment?
    /// When it goes on, once the outage is over.
    private var resumption: Moment?

    init(_ outage: Outage, key: RandomKey) {
        switch outage.recovery {
        case .immediate:
            timer = nil
        case .tcpBackoff(let roundTrip):
            let timer = RetransmissionTimer(roundTrip: roundTrip?.nanoseconds ?? 0)
            // A timer has run for a part of a round trip when an outage begins, and no two senders have
            // measured the same. The range, 10 % less to 3 % more, is chosen so that an outage of 5 s
            // makes a gap of 5.5 to 6.5 s, around the 5.8 to 5.9 s that was measured with CUBIC.
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
        var passing = progress
        passing.availableEnd = progress.position
        return passing
    }
}

extension Outage: PlannedFault {
    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        (.outage, .outage(OutageStage(self, key: place.key)))
    }

    var terminator: ConnectionTerminators.Cause? { how == .silence ? nil : .outage }

    /// One that hits all connections refuses them by not listening.
    func gateRole(isForEverybody: Bool) -> Gate.Role? { isForEverybody && how == .refuse ? .refuses : nil }
}
