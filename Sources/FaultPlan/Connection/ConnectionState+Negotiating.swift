import Units

/// The handshake of a client that names its target, see `ConnectionState.Phase.negotiating`.
///
/// No fault acts before the target is known: the handshake is between the client and the proxy.
extension ConnectionState {
    /// The time limit of a handshake, and of sending each reply: 10 s.
    public static let handshakeLimit = Duration.seconds(10)

    /// The client's socket is watched, and its handshake comes first.
    mutating func negotiate(at now: Moment) -> ConnectionActions {
        let deadline = now + ConnectionState.handshakeLimit
        phase = .negotiating(until: deadline)
        return ConnectionActions(timer: deadline, .negotiate)
    }

    /// The handshake goes on at `moment`, because its answer waits until then.
    public mutating func handshakePaused(until moment: Moment) -> ConnectionActions {
        guard case .negotiating(let deadline, _) = phase else { return ConnectionActions() }
        phase = .negotiating(until: deadline, pausedUntil: moment)
        return ConnectionActions(timer: moment)
    }

    mutating func negotiateAgain(until deadline: Moment) -> ConnectionActions {
        phase = .negotiating(until: deadline)
        return ConnectionActions(timer: deadline, .negotiate)
    }

    /// The handshake has named a target, whose name is looked up within `limit`.
    public mutating func handshakeEnded(lookupLimit limit: Duration, at now: Moment) -> ConnectionActions {
        guard case .negotiating = phase else { return ConnectionActions() }
        let deadline = now + limit
        phase = .resolving(until: deadline)
        return ConnectionActions(timer: deadline, .resolve)
    }

    /// The addresses of the target are known.
    public mutating func resolved(at now: Moment) -> ConnectionActions {
        guard case .resolving = phase else { return ConnectionActions() }
        return begin(at: now)
    }

    /// The target is known, and with it the faults. To be called before `resolved`.
    public mutating func adopt(_ faults: ConnectionFaults) {
        self.faults = faults
        mayTerminate = faults.terminators.arePossible
        // `begin` sets the moment, when the handshake is over.
        watch = hasNoFaults ? [] : [FaultWatch(hold: faults.hold, passed: (0, .zero))]
    }

    /// The handshake is invalid or forbidden: the client gets the error, which is ready to be sent, then the end.
    public mutating func handshakeRefused(at now: Moment) -> ConnectionActions {
        switch phase {
        case .negotiating, .resolving:
            return reply(.refused, .sendReply, at: now)
        case .accepted, .held, .retrying, .connecting, .replying, .unreached, .flowing, .cutPending, .lingering,
            .blackholed, .closed:
            return ConnectionActions()
        }
    }

    /// The reply has been handed to the client's socket.
    public mutating func replySent() -> ConnectionActions {
        guard case .replying(let reply, _) = phase else { return ConnectionActions() }
        switch reply {
        case .connected:
            phase = .flowing
            return ConnectionActions(timer: .distantFuture)
        case .refused:
            // The client may still be sending a request that goes nowhere.
            return linger(.client, .closure, after: ConnectionActions(.client, .endStream))
        }
    }

    mutating func reply(_ reply: HandshakeReply, _ next: ConnectionActions.Next, at now: Moment) -> ConnectionActions {
        let deadline = now + ConnectionState.handshakeLimit
        phase = .replying(reply, until: deadline)
        return ConnectionActions(timer: deadline, next)
    }

    mutating func negotiationTimedOut(at now: Moment) -> ConnectionActions {
        if case .replying = phase { return close(both: .reset) }
        return reply(.refused, .refuse, at: now)
    }
}
