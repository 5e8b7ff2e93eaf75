import FaultProfile

/// The layer of a stream with TLS on which a fault acts and counts bytes. Without TLS there is one layer for all faults.
public enum FaultLayer: Hashable, Sendable {
    /// What TLS carries.
    case content
    /// The bytes between the client and the proxy, the handshake included.
    case wire
}

extension FaultKind {
    /// The layer on which faults of the kind act.
    public var layer: FaultLayer {
        if base == .wire { return .wire }
        return switch self {
        case .cut, .stall, .corrupt, .truncate, .insert, .http, .discard, .tls:
            .content
        case .latency, .bandwidth, .outage, .trace, .slice, .slowReader, .loss, .connect, .connectionLimit, .slowClose,
            .halfOpen:
            .wire
        }
    }
}

/// The plan of the content of a connection with TLS, beside that of its wire.
public final class ContentPlan: Sendable {
    /// The plan.
    public let plan: ConnectionPlan

    init(_ plan: ConnectionPlan) { self.plan = plan }
}
