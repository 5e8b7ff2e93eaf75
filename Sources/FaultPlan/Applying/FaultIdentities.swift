import FaultProfile

/// The identities of a plan's faults: numbers that an unchanged fault keeps across generations of the plan.
///
/// In the first generation they are the indices in `Plan.faults`. A number is never reused.
struct FaultIdentities: Sendable {
    private let identities: [Int]
    /// The index of each identity; empty where both are the same.
    private let indices: [Int: Int]
    /// The first unused number.
    private let next: Int

    /// The identities of a first generation with `count` faults.
    init(_ count: Int) {
        identities = Array(0..<count)
        indices = [:]
        next = count
    }

    /// The identities of `faults`, in phases of these names, in the generation after `last`. A fault is unchanged if
    /// `last` had an equal one in a phase of the same name.
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
                let index = old[slot]?.remove(at: match)
            {
                identities.append(last.identities[index])
            } else {
                identities.append(next)
                next += 1
            }
        }
        self.identities = identities
        indices = Dictionary(uniqueKeysWithValues: identities.enumerated().map { ($1, $0) })
        self.next = next
    }

    private struct Slot: Hashable {
        let phase: String?
        let name: String
    }

    /// The identity of the fault at an index.
    subscript(index: Int) -> Int { identities[index] }

    /// Whether the plan has a fault with this identity.
    func contains(_ identity: Int) -> Bool {
        indices.isEmpty ? identities.indices.contains(identity) : indices[identity] != nil
    }

    /// The index of the fault with an identity; the plan must have it.
    func index(of identity: Int) -> Int {
        if indices.isEmpty { return identity }
        guard let index = indices[identity] else {
            preconditionFailure("the plan has no fault of the identity \(identity)")
        }
        return index
    }

    func map<Result>(_ transform: (Int) -> Result) -> [Result] { identities.map(transform) }
}
