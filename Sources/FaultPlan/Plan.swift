import FaultProfile
import Units

/// A profile applied to one proxy. The seed, the proxy's name and the connection's number decide which faults a
/// connection gets.
///
/// A plan is a snapshot: only its counts of accepted connections change. `apply` replaces it by the next generation, in
/// which an unchanged fault keeps its identity. The proxy's acceptor owns the plan and calls `accept` once for each
/// connection, in order; copies of it resolve the faults of events.
public struct Plan: Sendable {
    /// The generation of the snapshot, from 1.
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

    /// Whether `accept` needs the client's address.
    public let asksForClient: Bool

    /// The identities of the faults across generations.
    let identities: FaultIdentities
    let phaseOfFault: [Int?]
    /// The rates shared by all connections, by the identity of their fault.
    let sharedRates: [Int: BucketPair]
    /// The rates shared by the connections of a client, if there is no `clientStore`.
    var clientRates: ClientBuckets
    let clientStore: (any ClientRateStore)?
    /// The faults that have acted and trigger others. Shared by all copies of the plan.
    let triggers: TriggerFlags
    /// The faults on every new connection.
    let gates: [Gate]
    /// The number of connections that each fault has met, by its index, and of all that were accepted.
    var turns: [Int]
    var accepted: UInt64

    /// Makes the first generation of a plan for the proxy called `proxy`, whose clock starts at `start`.
    ///
    /// - Parameters:
    ///   - global: the global rates shared with other proxies; without it they are the proxy's own.
    ///   - clients: stores the rates of clients; without it they are the plan's own.
    public init(
        profile: Profile,
        seed: UInt64,
        proxy: String,
        start: Moment,
        holdLimit: ByteCount = Link.defaultHoldLimit,
        global: GlobalBuckets? = nil,
        clients: (any ClientRateStore)? = nil
    ) {
        let schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: start, seed: seed)
        self.init(
            profile,
            seed: seed,
            proxy: proxy,
            schedule: schedule,
            holdLimit: holdLimit,
            global: global,
            clients: clients,
            after: nil
        )
    }

    /// Makes the plan of `profile`, the first generation or the one after `last`.
    init(
        _ profile: Profile,
        seed: UInt64,
        proxy: String,
        schedule: Schedule,
        holdLimit: ByteCount,
        global: GlobalBuckets?,
        clients: (any ClientRateStore)?,
        after last: Plan?
    ) {
        let start = schedule.start
        self.profile = profile
        self.seed = seed
        self.proxy = proxy
        self.holdLimit = holdLimit
        self.schedule = schedule
        generation = last.map { $0.generation + 1 } ?? 1
        accepted = last?.accepted ?? 0
        var faults = profile.faults
        var phaseOfFault = [Int?](repeating: nil, count: faults.count)
        for (index, phase) in profile.phases.enumerated() {
            faults += phase.faults
            phaseOfFault += [Int?](repeating: index, count: phase.faults.count)
        }
        let phases = phaseOfFault.map { $0.map { profile.phases[$0].name } }
        let identities =
            last.map { FaultIdentities(faults, phases: phases, after: $0) } ?? FaultIdentities(faults.count)
        var sharedRates: [Int: BucketPair] = [:]
        for (index, fault) in faults.enumerated() {
            guard case .bandwidth(let bandwidth) = fault.kind else { continue }
            let identity = identities[index]
            switch bandwidth.scope {
            case .connection, .client: continue
            case .proxy:
                sharedRates[identity] = last?.sharedRates[identity] ?? BucketPair(bandwidth, start: start)
            case .global:
                sharedRates[identity] =
                    global?[fault.name, bandwidth] ?? last?.sharedRates[identity] ?? BucketPair(bandwidth, start: start)
            }
        }
        self.faults = faults
        self.identities = identities
        asksForClient = faults.contains { $0.asksForClient }
        self.phaseOfFault = phaseOfFault
        self.sharedRates = sharedRates
        clientRates = last?.clientRates ?? ClientBuckets()
        clientStore = clients
        triggers = TriggerFlags(faults, identities, after: last)
        gates = faults.indices.compactMap { index in
            let isForEverybody = faults[index].condition.isForEverybody
            guard let role = faults[index].kind.planned.gateRole(isForEverybody: isForEverybody) else { return nil }
            return Gate(
                fault: identities[index],
                index: index,
                role: role,
                window: Window(faults[index].condition, phase: phaseOfFault[index], start: start)
            )
        }
        turns = identities.map { last?.turn(of: $0) ?? 0 }
    }

    /// The fault with an identity, as events carry it.
    public func fault(_ identity: Int) -> Fault { faults[identities.place(of: identity)] }

    /// The plan of the next connection, accepted at `now`. `client` is the address without the port; `nil` if it is
    /// unknown or not needed.
    public mutating func accept(at now: Moment, client: String? = nil) -> ConnectionPlan {
        accepted += 1
        var draft = ConnectionDraft(ordinal: accepted, opened: now, phase: schedule.interval(at: now).phase)
        if !faults.isEmpty {
            let key = RandomKey(seed: seed, proxy: proxy, connection: accepted)
            let address = client.flatMap { IPAddress($0) }
            for (index, fault) in faults.enumerated() where isHit(fault, ordinal: accepted, key: key) {
                guard fault.condition.admits(address), triggers.allow(index) else { continue }
                let rate = clientRate(of: index, client: client)
                if add(index, to: &draft, key: key, clientRate: rate, turn: turns[index]) { turns[index] += 1 }
            }
        }
        return draft.plan(schedule: schedule, holdLimit: holdLimit)
    }

    /// Adds a fault to a connection, whose draws have the key `key`. `turn` is `nil` for a live connection, which gets
    /// no dial faults.
    ///
    /// - Returns: whether the fault acts on the links.
    @discardableResult
    func add(
        _ index: Int,
        to draft: inout ConnectionDraft,
        key: RandomKey,
        clientRate: BucketPair?,
        turn: Int?
    ) -> Bool {
        let fault = faults[index]
        let identity = identities[index]
        let window = window(of: index)
        let isOn = turn != nil && window.contains(at: draft.opened, age: 0, currentPhase: draft.phase)
        let planned = fault.kind.planned
        if isOn {
            let isNarrowed = fault.condition.http != nil
            let key = key.adding(fault.name)
            let place = DialContext(fault: identity, window: window, isNarrowed: isNarrowed, key: key)
            planned.addDialFaults(to: &draft.dialFaults, in: place)
        }
        draft.noteReading(of: fault, identity)
        if let cause = planned.terminator {
            draft.terminators.append(ConnectionTerminators.Source(fault: identity, window: window, cause: cause))
            return false
        }
        let sharedRate = clientRate ?? sharedRates[identity]
        addToLinks(index, planned, window, to: &draft, key: key, sharedRate: sharedRate, turn: turn)
        return true
    }

    /// Adds a fault to the links of its directions.
    private func addToLinks(
        _ index: Int,
        _ planned: any PlannedFault,
        _ window: Window,
        to draft: inout ConnectionDraft,
        key: RandomKey,
        sharedRate: BucketPair?,
        turn: Int?
    ) {
        let fault = faults[index]
        let identity = identities[index]
        // A request and its response have one draw.
        let filter = MessageFilter(fault.condition.http, key: key.adding(fault.name))
        for direction in Direction.allCases where fault.acts(on: direction) {
            let key = key.adding(direction, fault.name)
            let gate = fault.isGated ? MessageGate(filter) : nil
            if let pattern = fault.kind.pattern {
                draft.reading.patterns[direction, default: []].append((identity, pattern))
            }
            let place = StagePlace(
                fault: identity,
                turn: turn,
                rate: sharedRate?[direction],
                filter: filter,
                key: key
            )
            if let alterer = planned.alterer(in: place) {
                draft.add(Link.AlterSlot(fault: identity, window: window, alterer: alterer, gate: gate), on: direction)
                continue
            }
            if let window = planned.receiveWindow {
                draft.windows[direction] = min(window, draft.windows[direction] ?? window)
            }
            if let (rank, stage) = planned.stage(in: place) {
                draft.add(
                    Link.Slot(fault: identity, rank: rank.rawValue, window: window, stage: stage, gate: gate),
                    on: direction
                )
            }
        }
    }

    /// The identity of the fault that refuses every new connection at `now`, and when to ask again.
    public func refusal(at now: Moment) -> (fault: Int?, until: Moment) {
        standing(.refuses, at: now, schedule.interval(at: now))
    }

    /// Notes an event of a fault: faults that come after it are on for connections accepted from now on. Must be called
    /// for every event; from any thread and on any copy of the plan.
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
        let place = identities.place(of: fault)
        guard triggers.note(place) else { return false }
        let name = faults[place].name
        return gates.contains { faults[$0.index].condition.after == name }
    }

    /// The first moment after `now` at which a fault may come on or go off for all connections, by a phase or by the
    /// proxy's clock.
    public func nextChange(after now: Moment) -> Moment {
        let interval = schedule.interval(at: now)
        var next = interval.end
        for (index, fault) in faults.enumerated() where fault.condition.clock != nil || fault.condition.duty != nil {
            next = min(next, window(of: index).nextChange(after: now, opened: now, interval: interval))
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
        JournalEntry(
            moment: moment,
            proxy: proxy,
            connection: connection,
            direction: direction,
            fault: fault(event.fault).name,
            offset: event.offset,
            place: event.place,
            effect: event.effect
        )
    }

    func isHit(_ fault: Fault, ordinal: UInt64, key: RandomKey) -> Bool {
        guard fault.condition.connections.contains(ordinal) else { return false }
        guard fault.condition.chance < .always else { return true }
        return fault.condition.chance.happens(key.adding(fault.name).fraction(at: 0))
    }

    /// The rate that the connections of `client` share; `nil` if the fault is no such rate.
    mutating func clientRate(of index: Int, client: String?) -> BucketPair? {
        guard case .bandwidth(let bandwidth) = faults[index].kind, bandwidth.scope == .client else { return nil }
        let (start, identity) = (schedule.start, identities[index])
        if let clientStore {
            return clientStore.withRates { rates in
                rates.pair(of: client, fault: identity) { BucketPair(bandwidth, start: start) }
            }
        }
        return clientRates.pair(of: client, fault: identity) { BucketPair(bandwidth, start: start) }
    }

    func window(of index: Int) -> Window {
        Window(faults[index].condition, phase: phaseOfFault[index], start: schedule.start)
    }
}
