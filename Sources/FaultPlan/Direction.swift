import FaultProfile

/// One of the two directions of a connection.
public enum Direction: String, Hashable, Sendable, CaseIterable {
    /// Client to server.
    case upstream
    /// Server to client.
    case downstream

    /// The other one.
    var opposite: Direction {
        switch self {
        case .upstream: .downstream
        case .downstream: .upstream
        }
    }
}

extension StreamSelection {
    /// Whether a fault of this selection acts on `direction`.
    public func includes(_ direction: Direction) -> Bool {
        switch self {
        case .both: true
        case .upstream: direction == .upstream
        case .downstream: direction == .downstream
        }
    }
}
