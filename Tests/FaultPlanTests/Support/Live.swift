import FaultPlan
import FaultProfile
import Units

/// A connection in virtual time whose plan changes. One of its directions is pumped.
struct LivePump {
    private(set) var admitter: Admitter
    private var other: Link
    private let isUpstream: Bool
    var pump: Pump

    /// The first connection of `profile`.
    init(
        _ profile: Profile,
        seed: UInt64 = 1,
        upstream isUpstream: Bool = false,
        holdLimit: ByteCount = Link.defaultHoldLimit
    ) {
        admitter = Admitter.of(profile, seed: seed, holdLimit: holdLimit)
        let connection = admitter.accept(at: .zero)
        self.isUpstream = isUpstream
        other = isUpstream ? connection.downstream : connection.upstream
        pump = Pump(isUpstream ? connection.upstream : connection.downstream, holdLimit: holdLimit)
    }

    init(_ faults: Fault..., waiting: Int64? = 0) {
        self.init(.of(faults))
        pump.waiting = waiting
    }

    /// Goes on with `profile` from now.
    @discardableResult
    mutating func apply(_ profile: Profile) -> StreamInterest { follow(admitter.apply(profile)) }

    /// Sets the clock of the phases to what `next` makes of it now.
    mutating func setClock(_ next: (PhaseClock, Moment) -> PhaseClock) {
        _ = follow(admitter.setClock(next(admitter.plan.schedule.clock, pump.now)))
    }

    private mutating func follow(_ change: PlanChange) -> StreamInterest {
        let update = change.update(connection: 1, opened: .zero)
        return isUpstream
            ? update.apply(to: &pump.link, &other, at: pump.now) : update.apply(to: &other, &pump.link, at: pump.now)
    }

    /// The same with these faults alone.
    @discardableResult
    mutating func apply(_ faults: Fault...) -> StreamInterest { apply(.of(faults)) }

    /// Runs until so many milliseconds; returns what the sink has then.
    mutating func run(_ milliseconds: Int64) -> Int64 {
        pump.run(until: .milliseconds(milliseconds))
        return pump.link.delivered
    }
}
