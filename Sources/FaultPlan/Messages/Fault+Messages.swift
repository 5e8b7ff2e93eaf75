import FaultProfile

extension Fault {
    var actsOnMessages: Bool { kind.isAboutMessages || condition.http != nil || kind.base.countsMessages }

    /// Whether the fault is on only within selected messages. Offsets counted in messages select by themselves, but a fault
    /// that takes what follows has to know where its message ends.
    var hasAdmissionFault: Bool {
        !kind.isAboutMessages && (kind.base.countsMessages ? kind.endsWithMessage : condition.http != nil)
    }

    func acts(on direction: Direction) -> Bool {
        if let stream = kind.ownStream { return stream.includes(direction) }
        // A request has no status.
        if condition.http?.status != nil, direction == .upstream { return false }
        return stream.includes(direction)
    }
}
