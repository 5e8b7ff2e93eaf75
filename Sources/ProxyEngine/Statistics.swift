import FaultProfile
import Units

/// The counters of a proxy since its start.
public struct Statistics: Hashable, Sendable {
    /// Connections that were accepted.
    public var accepted: UInt64 = 0
    /// Connections that are open now.
    public var open = 0
    /// Connections whose upstream could not be reached.
    public var failed: UInt64 = 0
    /// Clients that were reset instead of accepted: by a limit, or because they come from the proxy itself.
    public var refused: UInt64 = 0
    /// Bytes passed from clients to the server.
    public var upstreamBytes: Int64 = 0
    /// Bytes passed from the server to clients.
    public var downstreamBytes: Int64 = 0
    /// Bytes received from clients, before the faults.
    public var upstreamReceived: Int64 = 0
    /// Bytes received from the server, before the faults.
    public var downstreamReceived: Int64 = 0
    /// Bytes received and not yet passed on now: those that faults hold, or that a receiver doesn't take.
    public var heldBytes: Int64 = 0
    /// Open connections whose HTTP messages are read from their next request on, because a fault of messages came later.
    public var joining = 0
    /// Open connections that a fault of HTTP messages doesn't reach, because they aren't read as HTTP/1.
    public var unread = 0
    /// The events of faults, by kind: those of the journal, including lines that its quota leaves out, but without streams
    /// that aren't HTTP.
    public var faultEvents: [FaultKind.Name: UInt64] = [:]

    /// The number of times that a fault acted late by `Statistics.noticedLateness` or more, because the machine was busy.
    public var lateTimes = 0
    /// The longest lateness; zero if none was noticed.
    public var longestLateness = Duration.zero
    /// The bytes that rates lost: a rate makes up for at most 10 s.
    public var lostBytes: Int64 = 0

    /// The lateness that is counted and reported: 50 ms. A rate makes up for it, a delay doesn't.
    public static let noticedLateness = Duration.milliseconds(50)

    /// All counters at zero.
    public init() {}

    /// Adds the counters of another loop.
    public static func += (left: inout Statistics, right: Statistics) {
        left.accepted += right.accepted
        left.open += right.open
        left.failed += right.failed
        left.refused += right.refused
        left.upstreamBytes += right.upstreamBytes
        left.downstreamBytes += right.downstreamBytes
        left.upstreamReceived += right.upstreamReceived
        left.downstreamReceived += right.downstreamReceived
        left.heldBytes += right.heldBytes
        left.joining += right.joining
        left.unread += right.unread
        left.faultEvents.merge(right.faultEvents, uniquingKeysWith: +)
        left.lateTimes += right.lateTimes
        left.longestLateness = max(left.longestLateness, right.longestLateness)
        left.lostBytes += right.lostBytes
    }
}
