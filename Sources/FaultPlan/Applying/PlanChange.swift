import FaultProfile
import Units

/// The step from one generation of a plan to the next.
public struct PlanChange: Sendable {
    /// The new generation.
    public let plan: Plan
    /// The names of the faults that only the new generation has, in its order.
    public let added: [String]
    /// The names of the faults that only the old one had.
    public let removed: [String]
    /// The names of the faults that both have, with a different definition or in a different phase.
    public let changed: [String]
    /// Whether the phases or their times differ.
    public let changesPhases: Bool
    /// Whether `update` needs the client's address of a live connection.
    public let asksForClient: Bool
    /// The indices of the faults that are new in the plan.
    let beginning: [Int]
    private let removedIdentities: Set<Int>
    private let layer: FaultLayer?
    /// The cuts by a limit whose count goes on from a fault of the same name: the identity of each, and of that fault.
    let counting: [Int: Int]

    init(from old: Plan, to plan: Plan) {
        (self.plan, layer) = (plan, nil)
        beginning = plan.faults.indices.filter { !old.identities.contains(plan.identities[$0]) }
        let names = (old: Set(old.faults.map(\.name)), new: Set(plan.faults.map(\.name)))
        let ended = old.faults.indices.filter { !plan.identities.contains(old.identities[$0]) }
        let limits = ended.filter { old.faults[$0].kind.isLimit }
        counting = beginning.reduce(into: [:]) { counting, index in
            guard plan.faults[index].kind.isLimit else { return }
            let last = limits.first { old.faults[$0].name == plan.faults[index].name }
            counting[plan.identities[index]] = last.map { old.identities[$0] }
        }
        added = beginning.map { plan.faults[$0].name }.filter { !names.old.contains($0) }
        let gone = ended.filter { !names.new.contains(old.faults[$0].name) }
        removed = gone.map { old.faults[$0].name }
        removedIdentities = Set(gone.map { old.identities[$0] })
        changed = beginning.map { plan.faults[$0].name }.filter { names.old.contains($0) }
        changesPhases = old.schedule != plan.schedule
        asksForClient = beginning.contains { plan.faults[$0].asksForClient }
    }

    /// No change: `plan` goes on, with the faults of one layer alone unless that is `nil`.
    init(keeping plan: Plan, on layer: FaultLayer? = nil) {
        (self.plan, self.layer) = (plan, layer)
        (added, removed, changed) = ([], [], [])
        (changesPhases, asksForClient) = (false, false)
        (beginning, counting, removedIdentities) = ([], [:], [])
    }

    /// Whether the fault with an identity remains.
    func isKept(_ identity: Int) -> Bool {
        guard let index = plan.index(of: identity) else { return false }
        return plan.prepared[index].isOn(layer)
    }

    /// Whether the fault with an identity is gone, and none of its name has come in its place.
    func isRemoved(_ identity: Int) -> Bool { removedIdentities.contains(identity) }

    /// The update of one live connection, or of a layer of it. Its client's address is needed if `asksForClient`.
    public func update(
        connection ordinal: UInt64,
        opened: Moment,
        _ facts: ConnectionFacts = ConnectionFacts(),
        on layer: FaultLayer? = nil
    ) -> ConnectionUpdate {
        var draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: nil)
        guard !beginning.isEmpty else { return ConnectionUpdate(self, draft) }
        let key = plan.connectionKey(ordinal)
        // Without a store, a client's rates are the connection's own.
        var rates = ClientBuckets()
        for index in beginning where plan.prepared[index].isOn(layer) {
            guard plan.prepared[index].isHit(ordinal: ordinal, facts, key: key) else { continue }
            _ = plan.add(index, to: &draft, facts, turn: nil, &rates)
        }
        return ConnectionUpdate(self, draft)
    }
}

extension Plan {
    /// The update of a live connection that carries one layer from here on, where it had the faults of both.
    public func update(connection ordinal: UInt64, opened: Moment, keeping layer: FaultLayer) -> ConnectionUpdate {
        let draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: nil)
        return ConnectionUpdate(PlanChange(keeping: self, on: layer), draft)
    }

    /// The index of the fault with an identity; `nil` if the plan doesn't have it.
    func index(of identity: Int) -> Int? {
        identities.contains(identity) ? identities.index(of: identity) : nil
    }

    /// The trigger flag of a fault; `nil` if no other comes after it.
    func flag(of identity: Int) -> TriggerFlags.Flag? {
        index(of: identity).flatMap(triggers.flag)
    }

    func window(ofIdentity identity: Int) -> Window { prepared[identities.index(of: identity)].window }

    /// The rate shared by all connections that is the fault with an identity; `nil` if it is none.
    func sharedRate(of identity: Int) -> BucketPair? {
        index(of: identity).flatMap { prepared[$0].sharedRate }
    }
}

extension FaultKind {
    /// Whether it is a cut that counts from where it began.
    fileprivate var isLimit: Bool {
        if case .cut(let cut) = self, case .limit = cut.position { true } else { false }
    }
}

extension Fault {
    /// Whether the fault depends on the client's address.
    var asksForClient: Bool {
        if condition.asks(for: .client) { return true }
        return if case .bandwidth(let bandwidth) = kind { bandwidth.scope == .client } else { false }
    }
}
