import FaultProfile

extension Fault {
    /// Whether it has to be known where the messages of HTTP are.
    var actsOnMessages: Bool {
        if case .http = kind { return true }
        return condition.http != nil || kind.origin != .connection
    }

    /// Whether the fault is on for stretches of the stream, and off for others; where offsets count in messages, those
    /// alone are picked.
    var isGated: Bool {
        if case .http = kind { return false }
        return condition.http != nil && kind.origin == .connection
    }

    /// Whether it acts on the link of a direction.
    func acts(on direction: Direction) -> Bool {
        switch kind {
        case .http(.answer): return direction == .upstream
        case .http(.drop): return direction == .downstream
        case .latency, .bandwidth, .cut, .stall, .outage, .corrupt, .truncate, .trace, .slice, .slowReader, .loss,
            .connect, .connectionLimit, .slowClose, .halfOpen:
            // A request has no status.
            if condition.http?.status != nil, direction == .upstream { return false }
            return stream.includes(direction)
        }
    }
}

extension FaultKind {
    /// What the fault's offsets are counted in.
    var origin: Origin {
        switch self {
        case .cut(let cut): cut.origin
        case .stall(let stall): stall.origin
        case .corrupt(let corrupt): corrupt.origin
        case .truncate(let truncate): truncate.origin
        case .latency, .bandwidth, .outage, .trace, .slice, .slowReader, .loss, .http: .connection
        case .connect, .connectionLimit, .slowClose, .halfOpen: .connection
        }
    }

    /// The bytes that the fault looks for.
    var pattern: BytePattern? {
        guard case .cut(let cut) = self, case .pattern(let pattern) = cut.position else { return nil }
        return pattern
    }
}
