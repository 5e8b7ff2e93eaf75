import FaultProfile
import Units

/// The bits that a fault's rate lets pass over time, for a picture of it.
public struct RateLimit: Sendable {
    private enum Shape {
        case curve(RateCurve)
        case trace(TraceStage)
    }

    private let shape: Shape
    /// Whether its times count from the start of the proxy's clock; if not, from the opening of the connection.
    public let isOnClock: Bool

    /// Makes the limit of a kind of fault; `nil` if it has no rate.
    public init?(_ kind: FaultKind) {
        switch kind {
        case .bandwidth(let bandwidth):
            shape = .curve(RateCurve(bandwidth))
            isOnClock = bandwidth.scope != .connection
        case .trace(let trace):
            shape = .trace(TraceStage(trace))
            isOnClock = false
        default:
            guard let rate = kind.figures.rate else { return nil }
            shape = .curve(RateCurve(Bandwidth(rate: rate)))
            isOnClock = false
        }
    }

    /// The bits that may pass between two times in nanoseconds, of which `end` is later.
    public func bits(from begin: Int64, to end: Int64) -> Double {
        switch shape {
        case .curve(let curve): curve.bits(from: begin, to: end)
        case .trace(let trace):
            Double(trace.count(before: end).subtractingSaturated(trace.count(before: begin)))
                * Double(Trace.opportunitySize.bytes * 8)
        }
    }
}
