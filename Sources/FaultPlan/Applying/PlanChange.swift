import FaultProfile
import Units

/// One generation of a plan taking the place of another.
public struct PlanChange: Sendable {
    /// The new generation.
    public let plan: Plan
    /// The names of the faults that only the new generation has, in its order.
    public let added: [String]
    /// The names of the faults that only the old one had.
    public let removed: [String]
    /// The names of the faults that both have, each with another definition, or in another phase.
    public let changed: [String]
    /// Whether the phases, or their times, are others.
    public let changesPhases: Bool
    /// Whether a live connection has to say the address of its client.
    public let asksForClient: Bool
    /// The indices in the new plan of the faults that begin with it.
    let beginning: [Int]

    init(from old: Plan, to plan: Plan) {
        self.plan = plan
        beginning = plan.faults.indices.filter { !old.identities.contains(plan.identities[$0]) }
        let names = (old: Set(old.faults.map(\.name)), new: Set(plan.faults.map(\.name)))
        let ended = old.faults.indices.filter { !plan.identities.contains(old.identities[$0]) }
        added = beginning.map { plan.faults[$0].name }.filter { !names.old.contains($0) }
        removed = ended.map { old.faults[$0].name }.filter { !names.new.contains($0) }
        changed = beginning.map { plan.faults[$0].name }.filter { names.old.contains($0) }
        changesPhases = old.schedule != plan.schedule
        asksForClient = beginning.contains { plan.faults[$0].asksForClient }
    }

    /// Whether the fault of an identity goes on.
    func isKept(_ identity: Int) -> Bool { plan.identities.contains(identity) }

    /// What it makes of a live connection, whose number and begin are given, and its client's address if `asksForClient`.
    public func update(connection ordinal: UInt64, opened: Moment, client: String?) -> ConnectionUpdate {
        // Rates of clients that nobody keeps for all are the connection's own.
        var plan = plan
        var draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: nil)
        guard !beginning.isEmpty else { return ConnectionUpdate(self, draft) }
        let key = RandomKey(seed: plan.seed, proxy: plan.proxy, connection: ordinal)
        let address = client.flatMap { IPAddress($0) }
        for index in beginning where plan.isHit(plan.faults[index], ordinal: ordinal, key: key) {
            guard plan.faults[index].condition.admits(address), plan.struck.allow(index) else { continue }
            let rate = plan.clientRate(of: index, client: client)
            plan.add(index, to: &draft, key: key, clientRate: rate, turn: nil)
        }
        return ConnectionUpdate(self, draft)
    }
}

extension Plan {
    /// Takes `profile` in place of the one before. The seed, the name, the clock and the numbers of connections go on; a
    /// fault that hasn't changed keeps its identity, what it shares between connections, and whether it has acted.
    ///
    /// - Parameter global: the rates that it shares with other proxies; without it they are the proxy's own.
    public mutating func apply(_ profile: Profile, global: GlobalBuckets? = nil) -> PlanChange {
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: schedule.start, seed: seed)
        var next = Plan(
            profile,
            seed: seed,
            proxy: proxy,
            schedule: schedule,
            holdLimit: holdLimit,
            global: global,
            clients: clientStore,
            after: self
        )
        let identities = next.identities
        next.clientRates.keep(identities.contains)
        clientStore?.withRates { $0.keep(identities.contains) }
        let change = PlanChange(from: self, to: next)
        self = next
        return change
    }

    /// The connections that the fault of an identity has met, if the plan has it.
    func turn(of identity: Int) -> Int? {
        identities.contains(identity) ? turns[identities.place(of: identity)] : nil
    }

    /// The flag of the fault of an identity, if others come after it.
    func flag(of identity: Int) -> TriggerFlags.Flag? {
        identities.contains(identity) ? struck.flag(identities.place(of: identity)) : nil
    }

    /// When the fault of an identity is on.
    func window(ofIdentity identity: Int) -> Window { window(of: identities.place(of: identity)) }
}

extension Fault {
    /// Whether the address of the client decides something.
    var asksForClient: Bool {
        if !condition.clients.isEmpty { return true }
        return if case .bandwidth(let bandwidth) = kind { bandwidth.scope == .client } else { false }
    }
}
