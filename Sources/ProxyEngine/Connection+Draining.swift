import EventLoop
import FaultPlan
import Units

/// The policy of one connection, in memory that only connections with an end that is gone have.
final class DrainRecord {
    var policy: DrainPolicy

    init(_ policy: DrainPolicy) {
        self.policy = policy
    }
}

/// Connections whose ends go away, see `DrainPolicy`.
extension Connection {
    /// The connection as the policy sees it.
    private var drainView: DrainPolicy.View {
        switch state {
        case .hanging, .delayed:
            return DrainPolicy.View(.unconnected, client: end(of: client), server: .absent)
        case .connecting:
            // What the client has sent is for the server, which has as long as connecting may take.
            let situation: DrainPolicy.Situation = client.receivable() > 0 ? .passing : .unconnected
            return DrainPolicy.View(
                situation,
                client: end(of: client),
                server: situation == .passing ? .open : .absent
            )
        case .flowing:
            var view = DrainPolicy.View(.passing, client: end(of: client), server: end(of: server))
            if view.client == .open && view.server == .open, !up.link.isDeaf, !down.link.isDeaf { return view }
            let unacknowledged = server.isOpen ? server.unacknowledged() : 0
            view.passed = up.link.delivered + down.link.delivered - Int64(unacknowledged + client.unacknowledged())
            if up.link.isDeaf || down.link.isDeaf {
                view.situation = .severed
            } else if up.link.isSilent || down.link.isSilent {
                view.situation = .blackholed
            } else if unacknowledged > 0 {
                view.situation = .unread
            }
            return view
        case .silent:
            return DrainPolicy.View(
                .severed,
                client: end(of: client),
                server: server.isOpen ? end(of: server) : .absent
            )
        case .parting, .closed:
            return DrainPolicy.View(.closing, client: .gone, server: .gone)
        }
    }

    private func end(of socket: StreamSocket) -> DrainPolicy.End {
        if !socket.isOpen || socket.isBroken() || socket.hasPeerClosed { return .gone }
        return socket.hasPeerEnded ? .ended : .open
    }

    /// Releases the connection if the policy has it so, and has the ends probed that may be gone; `true` when it is over.
    func isDrained(at now: Moment) -> Bool {
        let view = drainView
        guard view.isOfConcern else { return false }
        let record = drain ?? DrainRecord(DrainPolicy(shard.limits, beginning: now, passed: view.passed))
        drain = record
        if case .release = record.policy.verdict(on: view, at: now) {
            abandon(reset: true)
            return true
        }
        let probes = record.policy.probes(of: view, at: now)
        if probes.client { client.probe(every: shard.limits.probeSeconds, count: shard.limits.probeCount) }
        if probes.server { server.probe(every: shard.limits.probeSeconds, count: shard.limits.probeCount) }
        return false
    }

    /// In which order the connection is released where descriptors run short; `nil` when it isn't.
    func shortageRank(at now: Moment) -> Int? {
        let view = drainView
        guard view.isOfConcern else { return nil }
        let record = drain ?? DrainRecord(DrainPolicy(shard.limits, beginning: now, passed: view.passed))
        drain = record
        return record.policy.shortageRank(of: view, at: now)
    }

    // MARK: Parting

    /// Ends `sink`, the last socket, as soon as its peer has everything.
    func part(to sink: StreamSocket, _ manner: Parting.Manner) {
        // A server that a fault has answered for is closed already.
        guard sink.isOpen else { return abandon(reset: true) }
        up.close(loop)
        down.close(loop)
        let parting = Parting(receiver: sink, manner: manner, limits: shard.limits, now: loop.now)
        state = .parting(parting)
        step(parting)
    }

    func step(_ parting: Parting) {
        switch parting.step(at: loop.now) {
        case .waiting(let wake):
            setTimer(to: wake)
        case .done(let unacknowledged):
            if unacknowledged > 0 {
                shard.context.tell(.unacknowledgedAtReset(connection: ordinal, bytes: unacknowledged))
            }
            finish()
        }
    }
}
