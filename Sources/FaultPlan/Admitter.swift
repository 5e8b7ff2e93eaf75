import FaultProfile
import Units

/// Numbers the connections of a proxy, and plans the faults of each.
///
/// The proxy's acceptor owns it, and calls `accept` once for each connection, in order.
public struct Admitter: Sendable {
    /// The current generation of the plan.
    public private(set) var plan: Plan
    private var accepted: UInt64 = 0
    private var targets = TargetCounts()
    /// The number of connections that each fault has met while it was on, by its index.
    private var turns: [Int]
    /// The rates shared by the connections of a client, if the plan doesn't store them.
    private var rates = ClientBuckets()

    /// Makes the admitter of `plan`, which has accepted no connection.
    public init(_ plan: Plan) {
        self.plan = plan
        turns = plan.faults.map { _ in 0 }
    }

    /// The plan of the next connection, accepted at `now`. Its client's address is needed if `Plan.asksForClient`.
    ///
    /// - Parameter termination: whether the client speaks TLS with the proxy. If it always does, the plan is that of the wire,
    ///   and unless it never does, it has that of the content.
    public mutating func accept(
        at now: Moment,
        _ facts: ConnectionFacts = ConnectionFacts(),
        _ termination: TLSTermination = .never
    ) -> ConnectionPlan {
        accepted += 1
        var facts = facts
        facts.numberAtTarget = facts.target.map { targets.next($0) }
        var content: ConnectionPlan?
        if termination != .never {
            let met = turns
            content = plan(accepted, at: now, facts, on: .content)
            content?.numberAtTarget = facts.numberAtTarget
            // The other plan has the same faults, for the case that there is no TLS.
            if termination == .perhaps { turns = met }
        }
        var result = plan(accepted, at: now, facts, on: termination == .always ? .wire : nil)
        result.content = content.map { ContentPlan($0, of: plan) }
        result.numberAtTarget = facts.numberAtTarget
        return result
    }

    private mutating func plan(
        _ ordinal: UInt64,
        at now: Moment,
        _ facts: ConnectionFacts,
        on layer: FaultLayer? = nil
    ) -> ConnectionPlan {
        let key = plan.connectionKey(ordinal)
        let draft = draft(ordinal, opened: now, facts) {
            $0.isOn(layer) && $0.isHit(ordinal: ordinal, facts, key: key)
        }
        return draft.plan(of: plan)
    }

    /// The faults that the name in the client's first bytes brings to a live connection beside those that it has. They begin
    /// at its current position. To be called once for each connection, or for each layer of one.
    public mutating func update(
        ofConnection ordinal: UInt64,
        opened: Moment,
        _ facts: ConnectionFacts,
        on layer: FaultLayer? = nil
    ) -> ConnectionUpdate {
        let key = plan.connectionKey(ordinal)
        let draft = draft(ordinal, opened: opened, facts) {
            $0.isOn(layer) && $0.isNamed(ordinal: ordinal, facts, key: key)
        }
        return ConnectionUpdate(PlanChange(keeping: plan), draft)
    }

    private mutating func draft(
        _ ordinal: UInt64,
        opened: Moment,
        _ facts: ConnectionFacts,
        where isOn: (PreparedFault) -> Bool
    ) -> ConnectionDraft {
        let phase = plan.schedule.interval(at: opened).phase
        var draft = ConnectionDraft(ordinal: ordinal, opened: opened, phase: phase)
        for index in plan.prepared.indices where isOn(plan.prepared[index]) {
            if plan.add(index, to: &draft, facts, turn: turns[index], &rates) { turns[index] += 1 }
        }
        return draft
    }

    /// Replaces the profile. The seed, the name, the clock and the connection numbers continue; an unchanged fault keeps
    /// its identity, what it shares between connections, and whether it has acted.
    ///
    /// - Parameter global: the rates shared with other proxies; without it they are the proxy's own.
    public mutating func apply(_ profile: Profile, global: GlobalBuckets? = nil) -> PlanChange {
        adopt(Plan(profile, plan.schedule.clock, global, after: plan))
    }

    /// Sets the clock on which the phases, `when.clock` and duty cycles run. All faults keep their identities, and live
    /// connections their bytes. Ages of connections and rates that change over time don't follow the clock.
    public mutating func setClock(_ clock: PhaseClock) -> PlanChange {
        adopt(Plan(plan.profile, clock, nil, after: plan))
    }

    private mutating func adopt(_ next: Plan) -> PlanChange {
        let (last, met) = (plan, turns)
        turns = next.identities.map { last.index(of: $0).map { met[$0] } ?? 0 }
        rates.keep(next.identities.contains)
        next.clientStore?.withRates { $0.keep(next.identities.contains) }
        plan = next
        return PlanChange(from: last, to: next)
    }
}

extension Plan {
    /// Adds the fault at an index to a connection, unless it waits for an event. A live connection has no `turn`.
    ///
    /// - Returns: whether the connection has taken the turn.
    func add(
        _ index: Int,
        to draft: inout ConnectionDraft,
        _ facts: ConnectionFacts,
        turn: Int?,
        _ rates: inout ClientBuckets
    ) -> Bool {
        guard triggers.allow(index) else { return false }
        let rate = clientRate(of: prepared[index], client: facts.client, &rates)
        return prepared[index].add(to: &draft, key: connectionKey(draft.ordinal), clientRate: rate, turn: turn)
    }

    /// The rate that the connections of `client` share; `nil` if the fault is no such rate.
    private func clientRate(
        of prepared: PreparedFault,
        client: String?,
        _ rates: inout ClientBuckets
    ) -> BucketPair? {
        guard case .bandwidth(let bandwidth) = prepared.fault.kind, bandwidth.scope == .client else { return nil }
        let (start, identity) = (schedule.start, prepared.identity)
        guard let clientStore else {
            return rates.pair(of: client, fault: identity) { BucketPair(bandwidth, start: start) }
        }
        return clientStore.withRates { rates in
            rates.pair(of: client, fault: identity) { BucketPair(bandwidth, start: start) }
        }
    }

    /// Whether the name in the client's first bytes brings faults to a connection.
    public func hasFaults(
        forNameOf ordinal: UInt64,
        _ facts: ConnectionFacts,
        on layer: FaultLayer? = nil
    ) -> Bool {
        asksForHost
            && prepared.contains {
                $0.isOn(layer) && $0.isNamed(ordinal: ordinal, facts, key: connectionKey(ordinal))
            }
    }
}
