import FaultProfile

extension Fault {
    var actsOnMessages: Bool { kind.isAboutMessages || condition.http != nil || kind.base.countsMessages }

    /// Whether the fault is on only within selected messages. Offsets counted in messages select by themselves.
    var hasAdmissionFault: Bool { !kind.isAboutMessages && condition.http != nil && !kind.base.countsMessages }

    func acts(on direction: Direction) -> Bool {
        if let stream = kind.ownStream { return stream.includes(direction) }
        // A request has no status.
        if condition.http?.status != nil, direction == .upstream { return false }
        return stream.includes(direction)
    }
}
