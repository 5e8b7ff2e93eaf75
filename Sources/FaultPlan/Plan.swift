import FaultProfile
import Units

/// A profile at work behind one proxy: who is hit by what, decided by the seed, the proxy's name and
/// the number of the connection.
///
/// A value that isn't shared: the proxy's acceptor owns it and calls `accept` once for each
/// connection, in order.
public struct Plan: Sendable {
    /// The profile that the plan carries out.
    public let profile: Profile
    /// The seed of all its draws.
    public let seed: UInt64
    /// The name of the proxy, which is part of every draw.
    public let proxy: String
    /// The profile's faults in one list: those that are always on, then those of each phase.
    public let faults: [Fault]
    /// The phases on the proxy's clock.
    public let schedule: Schedule
    /// The bytes that one link may hold in memory.
    public let holdLimit: ByteCount

    /// Whether `accept` has to know the address of the client.
    public let asksForClient: Bool

    let phaseOfFault: [Int?]
    /// The rates that all connections share, by the index of their fault.
    private let sharedRates: [Int: BucketPair]
    private var clientRates = ClientBuckets()
    /// Which faults have struck, of those that others come after. All copies of the plan share it.
    let struck: StruckFaults
    /// The faults that concern everybody who connects.
    let gates: [Gate]
    private var turns: [Int]
    private var accepted: UInt64 = 0

    /// Makes the plan of `profile` for the proxy called `proxy`, whose clock starts at `start`. With
    /// `global` it shares its global rates with other proxies; without it they are the proxy's own.
    public init(
        profile: Profile,
        seed: UInt64,
        proxy: String,
        start: Moment,
        holdLimit: ByteCount = Link.defaultHoldLimit,
        global: GlobalBuckets? = nil
    ) {
        self.profile = profile
        self.seed = seed
        self.proxy = proxy
        self.holdLimit = holdLimit
        schedule = Schedule(phases: profile.phases, repeats: profile.repeats, start: start, seed: seed)
        var faults = profile.faults
        var phaseOfFault = [Int?](repeating: nil, count: faults.count)
        for (index, phase) in profile.phases.enumerated() {
            faults += phase.faults
            phaseOfFault += [Int?](repeating: index, count: phase.faults.count)
        }
        var sharedRates: [Int: BucketPair] = [:]
        for (index, fault) in faults.enumerated() {
            guard case .bandwidth(let bandwidth) = fault.kind else { continue }
            switch bandwidth.scope {
            case .connection, .client: continue
            case .proxy: sharedRates[index] = BucketPair(bandwidth, start: start)
            case .global: sharedRates[index] = global?[fault.name] ?? BucketPair(bandwidth, start: start)
            }
        }
        self.faults = faults
        asksForClient = faults.contains { fault in
            if !fault.condition.clients.isEmpty { return true }
            return if case .bandwidth(let bandwidth) = fault.kind { bandwidth.scope == .client } else { false }
        }
        self.phaseOfFault = phaseOfFault
        self.sharedRates = sharedRates
        struck = StruckFaults(faults)
        gates = faults.indices.compactMap { index in
            guard let role = Gate.Role(faults[index]) else { return nil }
            return Gate(
                fault: index,
                role: role,
                window: Window(faults[index].condition, phase: phaseOfFault[index], start: start)
            )
        }
        turns = [Int](repeating: 0, count: faults.count)
    }

    /// The plan of the next connection, accepted at `now` from a client's address without its port; `nil`
    /// where nobody asks for it or it isn't known.
    public mutating func accept(at now: Moment, client: String? = nil) -> ConnectionPlan {
        accepted += 1
        var draft = ConnectionDraft(ordinal: accepted, opened: now, phase: schedule.stretch(at: now).phase)
        if !faults.isEmpty {
            let key = RandomKey(seed: seed, proxy: proxy, connection: accepted)
            let address = client.flatMap { IPAddress($0) }
            for (index, fault) in faults.enumerated() where isHit(fault, ordinal: accepted, key: key) {
                guard fault.condition.admits(address), struck.allow(index) else { continue }
                add(index, to: &draft, key: key, client: client)
            }
        }
        return draft.plan(schedule: schedule, holdLimit: holdLimit)
    }

    /// Adds what a fault does that hits a connection, whose draws have this key.
    private mutating func add(_ index: Int, to draft: inout ConnectionDraft, key: RandomKey, client: String?) {
        let fault = faults[index]
        let window = window(of: index)
        let isOn = window.contains(at: draft.opened, age: 0, currentPhase: draft.phase)
        if case .connect(let connect) = fault.kind {
            if isOn { draft.beginning.add(connect, fault: index, window: window, key: key.adding(fault.name)) }
            return
        }
        if fault.actsOnMessages {
            draft.messageFault = draft.messageFault ?? index
            draft.reading.messages = true
            if let condition = fault.condition.http { draft.reading.add(condition) }
        }
        if let cause = Interruptions.Cause(fault.kind) {
            draft.interruptions.append(Interruptions.Source(fault: index, window: window, cause: cause))
            return
        }
        if case .loss(let loss) = fault.kind, fault.condition.http == nil, isOn {
            draft.beginning.add(ConnectDelay(loss, fault: index, key: key.adding(fault.name).adding("connect")))
        }
        addToLinks(index, window, to: &draft, key: key, client: client)
        turns[index] += 1
    }

    /// Adds what a fault does to the bytes of the directions that it acts on.
    private mutating func addToLinks(
        _ index: Int,
        _ window: Window,
        to draft: inout ConnectionDraft,
        key: RandomKey,
        client: String?
    ) {
        let fault = faults[index]
        let sharedRate = sharedRate(of: index, client: client)
        // A request and its response have one draw.
        let filter = MessageFilter(fault.condition.http, key: key.adding(fault.name))
        for direction in Direction.allCases where fault.acts(on: direction) {
            let key = key.adding(direction, fault.name)
            let gate = fault.isGated ? MessageGate(filter) : nil
            if let pattern = fault.kind.pattern {
                draft.reading.patterns[direction, default: []].append((index, pattern))
            }
            if let alterer = Alterer(fault.kind, filter, key: key) {
                draft.add(Link.AlterSlot(fault: index, window: window, alterer: alterer, gate: gate), on: direction)
                continue
            }
            if case .slowReader(let reader) = fault.kind, let window = reader.window {
                draft.windows[direction] = min(window, draft.windows[direction] ?? window)
            }
            if let (rank, stage) = stage(of: index, rate: sharedRate?[direction], filter, key: key) {
                draft.add(
                    Link.Slot(fault: index, window: window, stage: stage, gate: gate),
                    rank: rank,
                    on: direction
                )
            }
        }
    }

    /// The fault that refuses every new connection at `now`, as an index into `faults`, and when to ask again.
    public func refusal(at now: Moment) -> (fault: Int?, until: Moment) {
        standing(.refuses, at: now, schedule.stretch(at: now))
    }

    /// A fault has struck: those that come after it are on for the connections that are accepted from now on. To be
    /// called for every strike, from any thread and on any copy of the plan.
    ///
    /// - Returns: whether `admission` may answer otherwise from now on.
    @discardableResult
    public func note(_ strike: Strike) -> Bool {
        // That a stream isn't HTTP is told of a fault which does nothing to it.
        if case .isNoHTTP = strike.effect { false } else { noteStrike(of: strike.fault) }
    }

    /// The fault at an index has struck, see `note`.
    @discardableResult
    package func noteStrike(of fault: Int) -> Bool {
        guard struck.note(fault) else { return false }
        let name = faults[fault].name
        return gates.contains { faults[$0.fault].condition.after == name }
    }

    /// The first moment after `now` at which a fault may come on or go off for all connections: a phase ends, or the
    /// proxy's clock comes to where a condition has it so.
    public func nextChange(after now: Moment) -> Moment {
        let stretch = schedule.stretch(at: now)
        var next = stretch.end
        for (index, fault) in faults.enumerated() where fault.condition.clock != nil || fault.condition.duty != nil {
            next = min(next, window(of: index).nextChange(after: now, opened: now, stretch: stretch))
        }
        return next
    }

    /// What the journal says of a strike. `connection` and `direction` are `nil` where it concerns the
    /// proxy, or both directions.
    public func journalEntry(
        of strike: Strike,
        connection: UInt64?,
        direction: Direction?,
        at moment: Moment
    ) -> JournalEntry {
        JournalEntry(
            moment: moment,
            proxy: proxy,
            connection: connection,
            direction: direction,
            fault: faults[strike.fault].name,
            offset: strike.offset,
            place: strike.place,
            effect: strike.effect
        )
    }

    private func isHit(_ fault: Fault, ordinal: UInt64, key: RandomKey) -> Bool {
        guard fault.condition.connections.contains(ordinal) else { return false }
        guard fault.condition.chance < .always else { return true }
        return fault.condition.chance.happens(key.adding(fault.name).fraction(at: 0))
    }

    /// The rate that a connection of `client` shares with others, if the fault is one.
    private mutating func sharedRate(of index: Int, client: String?) -> BucketPair? {
        if let rate = sharedRates[index] { return rate }
        guard case .bandwidth(let bandwidth) = faults[index].kind, bandwidth.scope == .client else { return nil }
        let start = schedule.start
        return clientRates.pair(of: client, fault: index) { BucketPair(bandwidth, start: start) }
    }

    func window(of index: Int) -> Window {
        Window(faults[index].condition, phase: phaseOfFault[index], start: schedule.start)
    }

    /// The stage of a fault and its place in a link. Whatever order the profile has: a stream is first
    /// ended, then silenced, then stalled, then sliced, then held to its own rate, then to a shared one,
    /// so that nobody uses up a rate for bytes that can't pass; then it loses packets, which a rate
    /// behind it would hide; then it waits for the opportunities of a trace; then it is delayed, so that a
    /// link takes in no more than is in flight; and its end comes late behind all that.
    private func stage(
        of index: Int,
        rate: SharedBucket?,
        _ filter: MessageFilter,
        key: RandomKey
    ) -> (rank: Int, stage: Stage)? {
        switch faults[index].kind {
        case .cut(let cut):
            let stage = CutStage(cut, fault: index, filter: filter, key: key, turn: turns[index])
            return stage.map { (0, .cut(Box($0))) }
        case .http(.answer):
            return (0, .http(HTTPStage(filter)))
        case .bandwidth(let bandwidth):
            if let rate { return (5, .sharedBandwidth(Box(SharedBandwidthStage(rate)))) }
            return (4, .bandwidth(Box(BandwidthStage(bandwidth))))
        case .stall(let stall):
            return (2, .stall(Box(StallStage(stall, filter))))
        case .latency(let latency):
            return (8, .latency(Box(LatencyStage(latency, key: key))))
        case .trace(let trace):
            return (7, .trace(Box(TraceStage(trace))))
        case .slice(let slice):
            return (3, .slice(Box(SliceStage(slice, key: key))))
        case .slowReader(let reader):
            return (4, .slowReader(Box(SlowReaderStage(reader))))
        case .outage(let outage):
            return (1, .silence(SilenceStage(outage, key: key)))
        case .loss(let loss):
            return (6, .loss(Box(LossStage(loss, key: key))))
        case .halfOpen(let halfOpen):
            return (1, .halfOpen(HalfOpenStage(halfOpen)))
        case .slowClose(let close):
            return (9, .slowClose(SlowCloseStage(close)))
        case .corrupt, .truncate, .http(.drop), .connect, .connectionLimit:
            return nil
        }
    }
}
