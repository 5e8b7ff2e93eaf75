import EventLoop
import FaultPlan
import FaultProfile
import StreamReading
import Units

/// The name in the client's first bytes, for faults that are narrowed to hosts, see `NameReader`. The bytes wait until it is
/// known, and its faults begin in front of them. The server's bytes don't wait.
extension Connection {
    /// Begins to look for a name, if a fault asks for it and the client hasn't named one in a handshake.
    func beginNaming() {
        guard shard.plan.asksForHost else { return }
        if let negotiation {
            guard negotiation.handshake.boundary == nil, let host, IPAddress(host.host) != nil else { return }
        }
        naming = Naming()
        up.isHeld = true
    }

    /// Reads on, or has the first bytes pass if nothing holds them up; returns whether the connection still flows.
    func advanceNaming(_ naming: Naming, at now: Moment) -> Bool {
        switch naming.stage {
        case .reading:
            return readName(naming, at: now)
        case .awaitingFaults:
            return true
        case .beginning(var beginning):
            let (verdict, event) = beginning.advance(at: now)
            naming.stage = .beginning(beginning)
            if let event { record(event, nil, now) }
            switch verdict {
            case .wait(let moment):
                naming.wake = moment
                return !isDrained(at: now)
            case .pass:
                return releaseFirstBytes(naming, at: now)
            case .fail:
                shard.noteFailure()
                abandon(reset: true)
                return false
            }
        case .over:
            return releaseFirstBytes(naming, at: now)
        }
    }

    private func readName(_ naming: Naming, at now: Moment) -> Bool {
        while client.isReadable {
            switch client.receive(limit: naming.room) {
            case .received(let chunk):
                let outcome = loop.withScratch(chunk.count) { naming.read($0, at: now) }
                if outcome == .incomplete { continue }
                return follow(outcome, naming, at: now)
            case .wouldBlock:
                break
            case .ended, .failed:
                // The pump receives it again.
                return releaseFirstBytes(naming, at: now)
            }
        }
        return now < naming.wake || releaseFirstBytes(naming, at: now)
    }

    /// Goes on with what the first bytes amount to; returns whether the connection still flows.
    func follow(_ outcome: NameReader.Outcome, _ naming: Naming, at now: Moment) -> Bool {
        switch outcome {
        case .incomplete:
            return true
        case .none:
            return releaseFirstBytes(naming, at: now)
        case .name(let text):
            var facts = facts()
            let name = HostName(text, port: facts.port)
            facts.name = name
            guard shard.plan.hasFaults(forNameOf: ordinal, facts) else {
                self.name = name
                return releaseFirstBytes(naming, at: now)
            }
            naming.stage = .awaitingFaults
            let bound = LoopBound(self, on: loop)
            request(facts, .update(connection: ordinal) { update in bound.value.take(update, for: name) })
            return true
        }
    }

    private func take(_ update: ConnectionUpdate, for name: HostName) {
        guard state.isFlowing, let naming, case .awaitingFaults = naming.stage else { return }
        // Not before: a change of the profile that came in between knows nothing of the name, and these faults are of it.
        self.name = name
        if !update.isEmpty {
            if let window = update.receiveWindow[.upstream] { client.setReceiveBuffer(Int(window.bytes)) }
            if let window = update.receiveWindow[.downstream] { server.setReceiveBuffer(Int(window.bytes)) }
            follow(update, at: loop.now)
        }
        naming.stage = update.beginning.map { .beginning($0) } ?? .over
        queueTurn()
    }

    /// Has the link take the first bytes; returns whether the connection still flows.
    private func releaseFirstBytes(_ naming: Naming, at now: Moment) -> Bool {
        // The policy of a connection that was held up begins anew.
        if naming.isHeldUp { drain = nil }
        self.naming = nil
        up.isHeld = false
        guard !naming.bytes.isEmpty, up.isAlive else { return true }
        return follow(up.begin(with: naming.bytes, reader, to: server, now: now) ?? .waiting, .upstream, at: now)
    }
}
