/// What a proxy has done so far.
public struct Statistics: Hashable, Sendable {
    /// Connections that were accepted.
    public var accepted: UInt64 = 0
    /// Connections that are open now.
    public var open = 0
    /// Bytes passed from clients to the server.
    public var upstreamBytes: Int64 = 0
    /// Bytes passed from the server to clients.
    public var downstreamBytes: Int64 = 0

    /// Nothing yet.
    public init() {}

    /// Adds what another loop counted.
    public static func += (left: inout Statistics, right: Statistics) {
        left.accepted += right.accepted
        left.open += right.open
        left.upstreamBytes += right.upstreamBytes
        left.downstreamBytes += right.downstreamBytes
    }
}
