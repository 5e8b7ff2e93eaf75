import EventLoop
import Units

/// An open connection at one moment, for a list. Connections whose clients haven't named a target aren't listed.
public struct ConnectionSummary: Hashable, Sendable {
    /// The stage of a connection's life.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The server isn't connected yet.
        case dialing
        /// Both ends are connected.
        case open
        /// One end is gone, or nothing passes any more.
        case draining
    }

    /// The most names in `faults`: 8.
    public static let faultLimit = 8

    /// The connection's number, from 1.
    public var number: UInt64
    /// The client's address; `nil` once the client is gone, and for Unix-domain sockets.
    public var client: SocketAddress?
    /// The time since it was accepted.
    public var age: Duration
    /// Bytes passed from the client to the server.
    public var upstreamBytes: Int64
    /// Bytes passed from the server to the client.
    public var downstreamBytes: Int64
    /// The stage of its life.
    public var state: State
    /// The names of the faults that have acted on it, in the order of their first action; the first `faultLimit` names.
    public var faults: [String]
}

extension Connection {
    func summary(at now: Moment) -> ConnectionSummary {
        let stage: ConnectionSummary.State =
            switch state.phase {
            case .accepted, .negotiating, .resolving, .held, .retrying, .connecting, .replying: .dialing
            case .flowing: .open
            case .unreached, .cutPending, .lingering, .blackholed, .closed: .draining
            }
        let (upstream, downstream) = passedBytes
        return ConnectionSummary(
            number: ordinal,
            client: client.peerAddress,
            age: now - opened,
            upstreamBytes: upstream,
            downstreamBytes: downstream,
            state: stage,
            faults: actedFaults
        )
    }
}

extension Shard {
    /// The open connections with the lowest numbers, `limit` at most, in any order.
    func summaries(limit: Int) -> [ConnectionSummary] {
        let now = loop.now
        let numbered = connections.filter { $0.ordinal > 0 && $0.layer != .content }
        guard numbered.count > limit else { return numbered.map { $0.summary(at: now) } }
        let first = numbered.sorted { $0.ordinal < $1.ordinal }.prefix(limit)
        return first.map { $0.summary(at: now) }
    }

    /// Ends the connection with a number; `false` if it isn't here.
    func endConnection(_ number: UInt64, reset: Bool) -> Bool {
        let found = connections.first { $0.ordinal == number && $0.layer != .content }
        guard number > 0, let connection = found else { return false }
        connection.abandon(reset: reset)
        return true
    }
}

extension Proxy {
    /// The open connections with the lowest numbers, `limit` at most, in the order of their numbers.
    public func connections(limit: Int = 1_000) async -> [ConnectionSummary] {
        let limit = max(0, limit)
        let parts = await onShards { $0.summaries(limit: limit) }
        return Array(parts.joined().sorted { $0.number < $1.number }.prefix(limit))
    }

    /// Ends an open connection in both directions: by RST with `reset`, else by FIN after the bytes that were handed over.
    ///
    /// - Returns: `false` if no open connection has the number.
    public func endConnection(_ number: UInt64, reset: Bool) async -> Bool {
        await onShards { $0.endConnection(number, reset: reset) }.contains(true)
    }

    /// Calls `body` on every loop that runs, all at the same time, and returns the results in any order.
    @_semantics("optimize.sil.specialize.generic.never")
    func onShards<Result: Sendable>(_ body: @escaping @Sendable (Shard) -> Result) async -> [Result] {
        await withTaskGroup(of: Result?.self) { group in
            for shard in shards {
                group.addTask { try? await shard.loop.run(beyondLimit: true) { body(shard.value) } }
            }
            return await group.reduce(into: []) { results, result in
                if let result { results.append(result) }
            }
        }
    }
}
