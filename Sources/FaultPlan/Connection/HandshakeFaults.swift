import FaultProfile

/// The faults of TLS itself on one connection. Of two that contradict each other, the first of the profile acts.
public struct HandshakeFaults: Sendable {
    /// A fault of the plan with its data.
    public struct Entry: Sendable {
        /// The identity of the fault, see `Plan.fault`.
        public let fault: Int
        /// What it does.
        public let tls: TLSFault

        /// Its event in the journal.
        public var event: FaultEvent { FaultEvent(fault: fault, offset: nil, effect: tls.effect) }
    }

    private var entries: [Entry] = []

    /// Makes a list without a fault.
    public init() {}

    /// Whether there is none.
    public var isEmpty: Bool { entries.isEmpty }

    /// Adds a fault.
    mutating func add(_ tls: TLSFault, by fault: Int) { entries.append(Entry(fault: fault, tls: tls)) }

    /// Drops the faults that another generation of the plan doesn't have.
    public mutating func apply(_ change: PlanChange) { entries.removeAll { !change.isKept($0.fault) } }

    /// Adds faults behind those that there are.
    public mutating func add(_ others: HandshakeFaults) { entries += others.entries }

    /// The first fault of which `pick` takes something, and what it takes.
    public func first<Value>(_ pick: (TLSFault) -> Value?) -> (entry: Entry, value: Value)? {
        for entry in entries {
            if let value = pick(entry.tls) { return (entry, value) }
        }
        return nil
    }
}

extension TLSFault: PlannedFault {
    func addDialFaults(to dial: inout DialFaults, in place: DialContext) { dial.handshake.add(self, by: place.fault) }

    func reaches(_ direction: Direction, from fault: Fault) -> Bool { direction == .downstream }

    func stage(in place: StagePlace) -> (rank: StageRank, stage: Stage)? {
        guard case .alert(let alert, let offset?) = self, place.isOnAtStart else { return nil }
        return (.end, .cut(Box(CutStage(alert, at: offset, in: place))))
    }

    fileprivate var effect: FaultEvent.Effect {
        switch self {
        case .certificate, .identity: .presents
        case .alert: .alerts
        case .reply: .answers
        case .stall: .stalls
        case .alpn, .version: .negotiates
        case .record: .slices
        }
    }
}
