import Units

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

    /// How often what a fault had due was done late by `Statistics.noticedLateness` or more, because the machine was busy.
    public var lateTimes = 0
    /// How late at most; zero if it never was by as much as that.
    public var longestLateness = Duration.zero
    /// The bytes that a rate would have let pass, and didn't, because it doesn't make up for more than 10 s.
    public var lostBytes: Int64 = 0

    /// The lateness that is counted and told: 50 ms. A rate makes up for it, a delay doesn't.
    public static let noticedLateness = Duration.milliseconds(50)

    /// Nothing yet.
    public init() {}

    /// Adds what another loop counted.
    public static func += (left: inout Statistics, right: Statistics) {
        left.accepted += right.accepted
        left.open += right.open
        left.upstreamBytes += right.upstreamBytes
        left.downstreamBytes += right.downstreamBytes
        left.lateTimes += right.lateTimes
        left.longestLateness = max(left.longestLateness, right.longestLateness)
        left.lostBytes += right.lostBytes
    }
}
