import Units

/// The end of a client without a server, see `ConnectionState.Phase.unreached`.
extension ConnectionState {
    /// The longest wait of a client for its reset before a server is connected, which its `connect` would report if it came
    /// first: 50 ms.
    static let resetPause: Int64 = 50_000_000

    /// The server can't be reached.
    mutating func fail(at now: Moment) -> ConnectionActions {
        if negotiates { return reply(.refused, .refuse, at: now) }
        let deadline = now.advanced(byNanoseconds: ConnectionState.resetPause)
        phase = .unreached(until: deadline)
        return ConnectionActions(timer: deadline, .fail)
    }

    /// The end of a connection where it begins. A reset comes after the client has seen that it is connected.
    mutating func resetLater(_ end: ConnectionActions, at now: Moment) -> ConnectionActions {
        guard !negotiates, end.client == .reset else { return end }
        let deadline = now.advanced(byNanoseconds: ConnectionState.resetPause)
        phase = .unreached(until: deadline)
        return ConnectionActions(event: end.event, timer: deadline, .awaitFirstByte)
    }

    /// The failure to reach the server has been reported.
    public mutating func failureReported() -> ConnectionActions {
        guard case .unreached = phase else { return ConnectionActions() }
        guard rules.closesUnreached else { return ConnectionActions(.awaitFirstByte) }
        return linger(.client, .closure, after: ConnectionActions(.client, .endStream))
    }

    /// The client of a server that can't be reached has sent a byte, or is gone: it has seen that it is connected.
    public mutating func firstByteCame() -> ConnectionActions {
        guard case .unreached = phase else { return ConnectionActions() }
        return close(both: .reset)
    }
}
