import FaultProfile
import Units

/// A profile applied to one proxy. Immutable: the seed, the proxy's name and the connection's number decide which faults a
/// connection gets.
///
/// `Admitter` plans the connections, and makes the next generation, in which an unchanged fault keeps its identity.
public final class Plan: Sendable {
    /// The generation, from 1.
    public let generation: Int
    /// The profile that the plan carries out.
    public let profile: Profile
    /// The seed of all its draws.
    public let seed: UInt64
    /// The name of the proxy, which is part of every draw.
    public let proxy: String
    /// All faults of the profile: those outside phases, then those of each phase.
    public let faults: [Fault]
    /// The phases on the proxy's clock.
    public let schedule: Schedule
    /// The most bytes that one link holds in memory.
    public let holdLimit: ByteCount

    /// Whether `Admitter.accept` needs the client's address.
    public let asksForClient: Bool
    /// Whether a fault is for some hosts only, which a client may name after it was accepted.
    public let asksForHost: Bool
    /// Whether a fault depends on the client's program.
    public let asksForProgram: Bool

    let identities: FaultIdentities
    let phaseOfFault: [Int?]
    /// The faults, by their index.
    let prepared: [PreparedFault]
    /// The part of all keys that is the proxy's.
    private let proxyKey: RandomKey
    /// The rates shared by the connections of a client, if the plan stores them.
    let clientStore: (any ClientRateStore)?
    /// The faults that have acted and trigger others.
    let triggers: TriggerFlags
    let gates: [AdmissionFault]

    /// Makes the first generation of a plan for the proxy called `proxy`, whose clock starts at `start`.
    ///
    /// - Parameters:
    ///   - global: the global rates shared with other proxies; without it they are the proxy's own.
    ///   - clients: stores the rates of clients; without it they are the plan's own.
    public convenience init(
        profile: Profile,
        seed: UInt64,
        proxy: String,
        start: Moment,
        holdLimit: ByteCount = Link.defaultHoldLimit,
        global: GlobalBuckets? = nil,
        clients: (any ClientRateStore)? = nil
    ) {
        self.init(profile, seed, proxy, PhaseClock(start: start), holdLimit, global, clients, after: nil)
    }

    /// Makes the generation after `last`.
    convenience init(_ profile: Profile, _ clock: PhaseClock, _ global: GlobalBuckets?, after last: Plan) {
        self.init(profile, last.seed, last.proxy, clock, last.holdLimit, global, last.clientStore, after: last)
    }

    private init(
        _ profile: Profile,
        _ seed: UInt64,
        _ proxy: String,
        _ clock: PhaseClock,
        _ holdLimit: ByteCount,
        _ global: GlobalBuckets?,
        _ clients: (any ClientRateStore)?,
        after last: Plan?
    ) {
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, clock: clock, seed: seed)
        let start = schedule.start
        self.profile = profile
        self.seed = seed
        self.proxy = proxy
        self.holdLimit = holdLimit
        self.schedule = schedule
        generation = last.map { $0.generation + 1 } ?? 1
        var faults = profile.faults
        var phaseOfFault = [Int?](repeating: nil, count: faults.count)
        for (index, phase) in profile.phases.enumerated() {
            faults += phase.faults
            phaseOfFault += [Int?](repeating: index, count: phase.faults.count)
        }
        let phases = phaseOfFault.map { $0.map { profile.phases[$0].name } }
        let identities =
            last.map { FaultIdentities(faults, phases: phases, after: $0) } ?? FaultIdentities(faults.count)
        let proxyKey = RandomKey(seed: seed).adding(proxy)
        let prepared = faults.indices.map { index in
            let (fault, identity) = (faults[index], identities[index])
            var rate: BucketPair?
            if case .bandwidth(let bandwidth) = fault.kind {
                switch bandwidth.scope {
                case .connection, .client: break
                case .proxy: rate = last?.sharedRate(of: identity) ?? BucketPair(bandwidth, start: start)
                case .global:
                    rate =
                        global?[fault.name, bandwidth] ?? last?.sharedRate(of: identity)
                        ?? BucketPair(bandwidth, start: start)
                }
            }
            let window = Window(fault.condition, phase: phaseOfFault[index], clock: schedule.clock)
            return PreparedFault(fault, identity: identity, window: window, sharedRate: rate, proxyKey: proxyKey)
        }
        self.faults = faults
        self.identities = identities
        asksForClient = faults.contains { $0.asksForClient }
        asksForHost = faults.contains { $0.condition.asks(for: .host) }
        asksForProgram = faults.contains { $0.condition.asks(for: .program) }
        self.phaseOfFault = phaseOfFault
        self.prepared = prepared
        self.proxyKey = proxyKey
        clientStore = clients
        triggers = TriggerFlags(faults, identities, after: last)
        gates = faults.indices.compactMap { index in
            let isForEverybody = faults[index].condition.isForEverybody
            guard let role = faults[index].kind.planned.gateRole(isForEverybody: isForEverybody) else { return nil }
            return AdmissionFault(
                fault: identities[index],
                index: index,
                role: role,
                window: prepared[index].window
            )
        }
    }

    /// The fault with an identity, as events carry it.
    public func fault(_ identity: Int) -> Fault { faults[identities.index(of: identity)] }

    /// Whether the plan has a fault with this identity.
    public func hasFault(_ identity: Int) -> Bool { identities.contains(identity) }

    /// The name of a fault, and its kind.
    public func name(_ identity: Int) -> (fault: String, kind: FaultKind.Name) {
        let prepared = prepared[identities.index(of: identity)]
        return (prepared.fault.name, prepared.kind)
    }

    /// A connection accepted at `now` whose client hasn't named its target: it has no faults and no number until
    /// `Admitter.accept`.
    public func unnumbered(at now: Moment) -> ConnectionPlan {
        ConnectionDraft(ordinal: 0, opened: now, phase: nil).plan(of: self)
    }

    func connectionKey(_ ordinal: UInt64) -> RandomKey { proxyKey.adding(ordinal) }

    /// Notes an event of a fault: faults that come after it are on for connections accepted from now on. Must be called
    /// for every event; from any thread.
    ///
    /// - Returns: whether the result of `admission` may change.
    @discardableResult
    public func note(_ event: FaultEvent) -> Bool {
        // A fault on messages that can't be read hasn't acted.
        if case .isNoHTTP = event.effect { false } else { noteEvent(of: event.fault) }
    }

    /// Notes an event of the fault with an identity, see `note`.
    @discardableResult
    package func noteEvent(of fault: Int) -> Bool {
        let index = identities.index(of: fault)
        guard triggers.note(index) else { return false }
        let name = faults[index].name
        return gates.contains { faults[$0.index].condition.after == name }
    }

    /// The flags of those faults with these identities that others come after, by identity.
    func flags(of identities: @autoclosure () -> [Int]) -> [Int: TriggerFlags.Flag] {
        var flags: [Int: TriggerFlags.Flag] = [:]
        if triggers.isEmpty { return flags }
        for identity in identities() {
            if let flag = triggers.flag(self.identities.index(of: identity)) { flags[identity] = flag }
        }
        return flags
    }

    /// The first moment after `now` at which a fault may come on or go off for all connections, by a phase or by the
    /// proxy's clock.
    public func nextChange(after now: Moment) -> Moment {
        let interval = schedule.interval(at: now)
        var next = interval.end
        for (index, fault) in faults.enumerated() where fault.condition.clock != nil || fault.condition.duty != nil {
            next = min(next, prepared[index].window.nextChange(after: now, opened: now, interval: interval))
        }
        return next
    }

    /// The journal entry of an event. `connection` is `nil` for the whole proxy, `direction` for both directions.
    public func journalEntry(
        of event: FaultEvent,
        connection: UInt64?,
        direction: Direction?,
        at moment: Moment
    ) -> JournalEntry {
        let name = name(event.fault)
        return JournalEntry(
            moment: moment,
            proxy: proxy,
            connection: connection,
            direction: direction,
            fault: name.fault,
            kind: name.kind,
            offset: event.offset,
            place: event.place,
            effect: event.effect
        )
    }
}
