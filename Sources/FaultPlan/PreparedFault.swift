import FaultProfile
import Units

/// A fault of a plan, with everything that is the same on all connections.
///
/// A class, so that planning a connection copies one reference and not the texts of the fault.
final class PreparedFault: Sendable {
    let fault: Fault
    let kind: FaultKind.Name
    let identity: Int
    let window: Window
    /// The rate shared by all connections, if the fault is one.
    let sharedRate: BucketPair?
    let key: RandomKey
    private let tests: [@Sendable (Condition, Candidate) -> Bool]
    private let planned: any PlannedFault
    private let terminator: ConnectionTerminators.Cause?
    private let receiveWindow: ByteCount?
    private let pattern: BytePattern?
    private let actsOnMessages: Bool
    private let hasAdmissionFault: Bool
    private let directions: [Direction]

    init(_ fault: Fault, identity: Int, window: Window, sharedRate: BucketPair?, proxyKey: RandomKey) {
        self.fault = fault
        kind = fault.kind.name
        key = proxyKey.adding(fault.name)
        self.identity = identity
        self.window = window
        self.sharedRate = sharedRate
        tests = fault.condition.connectionTests
        planned = fault.kind.planned
        terminator = planned.terminator
        receiveWindow = planned.receiveWindow
        pattern = fault.kind.pattern
        actsOnMessages = fault.actsOnMessages
        hasAdmissionFault = fault.hasAdmissionFault
        let planned = self.planned
        directions = Direction.allCases.filter { planned.reaches($0, from: fault) }
    }

    /// Whether the fault acts on a layer; on `nil`, a connection without TLS for the client, all do that can.
    func isOn(_ layer: FaultLayer?) -> Bool {
        if let layer { return layer == fault.kind.layer }
        return if case .tls(.alert(_, _?)) = fault.kind { false } else { true }
    }

    func isHit(ordinal: UInt64, _ facts: ConnectionFacts, key: RandomKey) -> Bool {
        if tests.isEmpty { return true }
        let draw = key.adding(fault.name).fraction(at: 0)
        let candidate = Candidate(ordinal: ordinal, facts: facts, draw: draw)
        return tests.allSatisfy { $0(fault.condition, candidate) }
    }

    /// Whether the name in the client's first bytes brings the fault to a connection.
    func isNamed(ordinal: UInt64, _ facts: ConnectionFacts, key: RandomKey) -> Bool {
        var unnamed = facts
        unnamed.name = nil
        return isHit(ordinal: ordinal, facts, key: key) && !isHit(ordinal: ordinal, unnamed, key: key)
    }

    /// Adds the fault to a connection, whose draws have the key `key`. `turn` is `nil` for a live connection, which gets
    /// no dial faults.
    ///
    /// - Returns: whether the connection has taken the turn.
    func add(to draft: inout ConnectionDraft, key: RandomKey, clientRate: BucketPair?, turn: Int?) -> Bool {
        let isOnAtStart = turn != nil && window.contains(at: draft.opened, age: 0, currentPhase: draft.phase)
        // Each connection reaches the ages of the window by itself.
        let takesTurn = turn != nil && window.contains(at: draft.opened, age: window.ageFrom, currentPhase: draft.phase)
        if isOnAtStart {
            planned.addDialFaults(to: &draft.dialFaults, in: DialContext(source: self, connectionKey: key))
        }
        if actsOnMessages { draft.noteReading(of: fault, identity) }
        if let terminator {
            draft.terminators.append(
                ConnectionTerminators.Source(fault: identity, window: window, cause: terminator)
            )
            // A silence has stages as well.
            guard case .silence = terminator else { return false }
        }
        let rate = clientRate ?? sharedRate
        for direction in directions {
            let place = StagePlace(
                source: self,
                direction: direction,
                turn: takesTurn ? turn : nil,
                isOnAtStart: isOnAtStart,
                rate: rate?[direction],
                connectionKey: key
            )
            add(to: &draft, in: place)
        }
        return takesTurn
    }

    private func add(to draft: inout ConnectionDraft, in place: StagePlace) {
        let direction = place.direction
        let gate = hasAdmissionFault ? MessageGate(place.filter) : nil
        if let pattern {
            draft.reading.patterns[direction, default: []].append((identity, pattern))
        }
        if let alterer = planned.alterer(in: place) {
            draft.add(Link.AlterSlot(fault: identity, window: window, alterer: alterer, gate: gate), on: direction)
        }
        if let receiveWindow {
            draft.windows[direction] = min(receiveWindow, draft.windows[direction] ?? receiveWindow)
        }
        if let (rank, stage) = planned.stage(in: place) {
            draft.add(
                Link.Slot(fault: identity, rank: rank.rawValue, window: window, stage: stage, gate: gate),
                on: direction
            )
        }
    }
}
