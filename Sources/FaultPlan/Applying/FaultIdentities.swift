import FaultProfile

/// The identities of a plan's faults: numbers that stay the same from one generation of the plan to the next, as long as a
/// fault hasn't changed.
///
/// In the first generation they are the indices in `Plan.faults`. No number is given twice.
struct FaultIdentities: Sendable {
    private let identities: [Int]
    /// The index of each identity; empty where both are the same.
    private let places: [Int: Int]
    /// The first number that no fault of any generation has had.
    private let next: Int

    /// Those of a first generation with so many faults.
    init(_ count: Int) {
        identities = Array(0..<count)
        places = [:]
        next = count
    }

    /// Those of `faults`, of the phases of these names, in the generation after `last`. A fault hasn't changed if there was
    /// one with all that it says, in a phase of the same name.
    init(_ faults: [Fault], phases: [String?], after last: Plan) {
        var old: [Slot: [Int]] = [:]
        for (index, fault) in last.faults.enumerated() {
            let phase = last.phaseOfFault[index].map { last.profile.phases[$0].name }
            old[Slot(phase: phase, name: fault.name), default: []].append(index)
        }
        var next = last.identities.next
        var identities: [Int] = []
        for (index, fault) in faults.enumerated() {
            let slot = Slot(phase: phases[index], name: fault.name)
            if let match = old[slot]?.firstIndex(where: { last.faults[$0] == fault }),
                let place = old[slot]?.remove(at: match)
            {
                identities.append(last.identities[place])
            } else {
                identities.append(next)
                next += 1
            }
        }
        self.identities = identities
        places = Dictionary(uniqueKeysWithValues: identities.enumerated().map { ($1, $0) })
        self.next = next
    }

    private struct Slot: Hashable {
        let phase: String?
        let name: String
    }

    /// The identity of the fault at an index.
    subscript(index: Int) -> Int { identities[index] }

    /// Whether a fault of the plan has this identity.
    func contains(_ identity: Int) -> Bool {
        places.isEmpty ? identities.indices.contains(identity) : places[identity] != nil
    }

    /// The index of the fault of an identity, which is one of the plan.
    func place(of identity: Int) -> Int {
        if places.isEmpty { return identity }
        guard let place = places[identity] else {
            preconditionFailure("the plan has no fault of the identity \(identity)")
        }
        return place
    }

    func map<Result>(_ transform: (Int) -> Result) -> [Result] { identities.map(transform) }
}
