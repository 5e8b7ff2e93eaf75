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

/// Whether the client of a connection speaks TLS with the proxy.
public enum TLSTermination: Hashable, Sendable {
    /// What it says passes as it is.
    case never
    /// It listens with TLS.
    case always
    /// Its first bytes decide.
    case perhaps
}

/// The plan of the content of a connection with TLS, beside that of its wire.
public final class ContentPlan: Sendable {
    /// The plan.
    public let plan: ConnectionPlan
    /// The generation of which it is one.
    public let generation: Plan

    init(_ plan: ConnectionPlan, of generation: Plan) { (self.plan, self.generation) = (plan, generation) }

    /// The step to another generation; `nil` if the plan is of it.
    public func change(to other: Plan) -> PlanChange? {
        other === generation ? nil : PlanChange(from: generation, to: other)
    }
}
