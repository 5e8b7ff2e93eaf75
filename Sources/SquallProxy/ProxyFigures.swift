internal import FaultProfile
internal import ProxyEngine

/// The counters of a proxy since its start.
public struct ProxyStatistics: Hashable, Sendable {
    /// Accepted connections.
    public let accepted: Int
    /// Connections that are open now.
    public let open: Int
    /// Connections that could not reach the server.
    public let failed: Int
    /// Clients that were reset instead of accepted: by the limit of 16,384 open connections, by a `connection-limit` fault, or
    /// because they come from the proxy itself.
    public let refused: Int
    /// Bytes passed from clients to the server.
    public let upstreamBytes: Int64
    /// Bytes passed from the server to clients.
    public let downstreamBytes: Int64
    /// The events of faults, by the kind of the fault ("slow-reader").
    public let faultEvents: [String: Int]
    /// The number of times that a fault acted late by 50 ms or more, because the machine was busy.
    public let lateTimes: Int
    /// The longest lateness; zero if none was noticed.
    public let longestLateness: Duration

    init(_ statistics: Statistics) {
        accepted = Int(clamping: statistics.accepted)
        open = Int(clamping: statistics.open)
        failed = Int(clamping: statistics.failed)
        refused = Int(clamping: statistics.refused)
        upstreamBytes = statistics.upstreamBytes
        downstreamBytes = statistics.downstreamBytes
        faultEvents = statistics.faultEvents.reduce(into: [:]) { $0[$1.key.rawValue] = Int(clamping: $1.value) }
        lateTimes = statistics.lateTimes
        longestLateness = statistics.longestLateness
    }
}

/// An open connection at one moment.
public struct ProxyConnection: Hashable, Sendable {
    /// Its number, from 1.
    public let number: UInt64
    /// The client, `host:port`; `nil` once it is gone, and for Unix-domain sockets.
    public let client: String?
    /// The time since it was accepted.
    public let age: Duration
    /// Bytes passed from the client to the server.
    public let upstreamBytes: Int64
    /// Bytes passed from the server to the client.
    public let downstreamBytes: Int64
    /// The names of the faults that have acted on it, 8 at most, in the order of their first action.
    public let faults: [String]

    init(_ summary: ConnectionSummary) {
        number = summary.number
        client = summary.client.map { "\($0)" }
        age = summary.age
        upstreamBytes = summary.upstreamBytes
        downstreamBytes = summary.downstreamBytes
        faults = summary.faults
    }
}
