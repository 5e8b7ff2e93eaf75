import EventLoop
import FaultPlan
import StreamReading
import Units

/// The handshake in which a client names its target, see `ProxyHandshake`. Its bytes don't count in the links.
extension Connection {
    /// Reads on in the handshake, as far as the client takes the replies.
    func negotiate() {
        guard let negotiation else { preconditionFailure("only a connection with a handshake negotiates") }
        while true {
            switch negotiation.sendReplies(to: client) {
            case .done: break
            case .blocked: return
            case .failed: return abandon(reset: true)
            }
            guard client.isReadable else { return }
            switch client.receive(limit: negotiation.handshake.room) {
            case .received(let count):
                let outcome = loop.withScratch(count) { negotiation.handshake.read($0) }
                switch outcome {
                case .incomplete:
                    continue
                case .target(let target):
                    negotiation.target = target
                    host = target.host
                    let limit = shard.context.configuration.connectTimeout
                    return perform(state.handshakeEnded(lookupLimit: limit, at: loop.now))
                case .failed:
                    return perform(state.handshakeRefused(at: loop.now))
                }
            case .wouldBlock:
                return
            case .ended, .failed:
                return abandon(reset: false)
            }
        }
    }

    /// Looks up the target's name, off the loop.
    func resolve() {
        let context = shard.context
        guard let target = negotiation?.target, let policy = context.configuration.destination.policy else {
            preconditionFailure("a target is known before its name is looked up")
        }
        let bound = LoopBound(self, on: loop)
        context.lookups.find(target, policy, for: context, on: loop) { result in
            bound.value.resolved(target, result)
        }
    }

    private func resolved(_ target: ProxyTarget, _ result: Result<[SocketAddress], TargetProblem>) {
        // The time may be over, or the client gone.
        guard case .resolving = state.phase, let negotiation else { return }
        switch result {
        case .success(let addresses):
            negotiation.addresses = addresses
            if negotiation.awaitsPlan { requestPlan(for: target) } else { perform(state.resolved(at: loop.now)) }
        case .failure(let problem):
            shard.noteFailure()
            switch problem {
            case .unresolved(let error):
                shard.context.tell(.targetUnreachable("\(target)", error))
                negotiation.handshake.fail(.unresolved, "can't find the address of \(target.host): \(error.reason)")
            case .forbidden:
                shard.context.tell(.targetForbidden("\(target)"))
                negotiation.handshake.fail(
                    .forbidden,
                    "\(target) is an address of the proxy's own machine or a link-local one, which it doesn't connect to"
                )
            case .overloaded:
                negotiation.handshake.fail(
                    .overloaded,
                    "\(TargetLookups.limit) names are being looked up, which is the limit; try again"
                )
            }
            perform(state.handshakeRefused(at: loop.now))
        }
    }

    /// Has the listener make the faults of the connection.
    private func requestPlan(for target: ProxyTarget) {
        let bound = LoopBound(self, on: loop)
        let request = PlanRequest(
            connection: ordinal,
            opened: opened,
            client: client.peerAddress?.host,
            target: target.host,
            loop: loop,
            answer: .plan { plan in bound.value.begin(plan) }
        )
        // Without a listener the proxy is stopping, and ends the connection.
        shard.context.plans.withLock { $0 }?(request)
    }

    private func begin(_ plan: ConnectionPlan) {
        guard case .resolving = state.phase, let negotiation else { return }
        negotiation.awaitsPlan = false
        take(plan)
        perform(state.resolved(at: loop.now))
    }

    /// Reports that the target can't be reached, or that the handshake takes too long, and tells the client.
    func refuse(_ error: SystemError) {
        guard let negotiation else { preconditionFailure("only a connection with a handshake gets a reply") }
        if let target = negotiation.target {
            shard.noteFailure()
            shard.context.tell(.targetUnreachable("\(target)", error))
            negotiation.handshake.fail(HandshakeFailure(dialing: error), "can't connect to \(target): \(error.reason)")
        } else {
            negotiation.handshake.fail(.tooSlow, "the request has not come within 10 s")
        }
        sendReply()
    }

    /// Sends the reply that ends the handshake; the rest follows when the client's socket has room.
    func sendReply() {
        guard let negotiation else { preconditionFailure("only a connection with a handshake gets a reply") }
        switch negotiation.sendReplies(to: client) {
        case .done:
            perform(state.replySent())
            if state.isFlowing { flow(at: loop.now) }
        case .blocked:
            break
        case .failed:
            abandon(reset: true)
        }
    }

    /// Forwards the bytes that have come with the handshake, or looks for a name in them, and has the reader find the end of
    /// a request in absolute form; returns whether the connection still flows.
    func beginStream(after negotiation: Negotiation, at now: Moment) -> Bool {
        if let boundary = negotiation.handshake.boundary { readerOfOwn().forwardOnly(boundary) }
        let bytes = negotiation.handshake.firstBytes
        guard !bytes.isEmpty else { return true }
        if let naming { return follow(naming.read(bytes.span, at: now), naming, at: now) }
        return follow(up.begin(with: bytes, reader, to: server, now: now) ?? .waiting, .upstream, at: now)
    }
}
