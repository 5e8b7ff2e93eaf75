import FaultProfile

extension Fault {
    /// Whether it has to be known where the messages of HTTP are.
    var actsOnMessages: Bool { kind.isAboutMessages || condition.http != nil || kind.base != .connection }

    /// Whether the fault is on for intervals of the stream, and off for others; where offsets count in messages, those
    /// alone are picked.
    var isGated: Bool { !kind.isAboutMessages && condition.http != nil && kind.base == .connection }

    /// Whether it acts on the link of a direction.
    func acts(on direction: Direction) -> Bool {
        if let stream = kind.ownStream { return stream.includes(direction) }
        // A request has no status.
        if condition.http?.status != nil, direction == .upstream { return false }
        return stream.includes(direction)
    }
}
