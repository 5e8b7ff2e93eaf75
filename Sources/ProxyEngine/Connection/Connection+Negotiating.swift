import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import StreamReading
import Units

/// The handshake in which a client names its target, see `ProxyHandshake`. Its bytes don't count in the links.
extension Connection {
    /// Reads on in the handshake, as far as the client takes the replies.
    func negotiate() {
        guard let negotiation else { preconditionFailure("only a connection with a handshake negotiates") }
        if let outcome = negotiation.pending {
            negotiation.pending = nil
            guard follow(outcome, negotiation) else { return }
        }
        while true {
            switch negotiation.sendReplies(to: client) {
            case .done: break
            case .blocked: return
            case .failed: return abandon(reset: true)
            }
            guard client.isReadable else { return }
            switch client.receive(limit: negotiation.handshake.room) {
            case .received(let chunk):
                let outcome = loop.withScratch(chunk.count) { negotiation.handshake.read($0, reached: reached) }
                if let isRight = negotiation.handshake.takePasswordTry() {
                    guard answersTry(isRight, outcome, negotiation) else { return }
                }
                guard follow(outcome, negotiation) else { return }
            case .wouldBlock:
                return
            case .ended, .failed:
                return abandon(reset: false)
            }
        }
    }

    /// Goes on with what the client's bytes amount to; returns whether more are needed.
    private func follow(_ outcome: ProxyHandshake.Outcome, _ negotiation: Negotiation) -> Bool {
        switch outcome {
        case .incomplete:
            return true
        case .target(let target):
            negotiation.target = target
            host = HostName(target.host, port: target.port)
            let limit = shard.context.configuration.connectTimeout
            perform(state.handshakeEnded(lookupLimit: limit, at: loop.now))
        case .failed:
            perform(state.handshakeRefused(at: loop.now))
        }
        return false
    }

    /// Whether a password is answered now. If not, the answer waits for its time, or the connection has ended because too many
    /// wait.
    private func answersTry(_ isRight: Bool, _ outcome: ProxyHandshake.Outcome, _ negotiation: Negotiation) -> Bool {
        let (now, address) = (loop.now, client.peerAddress?.host ?? "")
        let moment = shard.context.passwordTries.withLock { $0.answer(isRight: isRight, to: address, at: now) }
        guard let moment else {
            abandon(reset: true)
            return false
        }
        guard moment > now else { return true }
        negotiation.pending = outcome
        perform(state.handshakePaused(until: moment))
        return false
    }

    /// The address of the proxy that the client has connected to.
    private func reached() -> ProxyTarget? {
        client.localAddress?.canonical.target
    }

    /// Has the listener number the connection and make its faults; then its target's name is looked up.
    func resolve() {
        guard let target = negotiation?.target else { preconditionFailure("a target is known before it is looked up") }
        let bound = LoopBound(self, on: loop)
        request(facts(), .plan { plan in bound.value.lookUp(target, with: plan) })
    }

    /// Looks up the target's name, off the loop.
    private func lookUp(_ target: ProxyTarget, with plan: ConnectionPlan) {
        // The client may be gone.
        guard case .resolving = state.phase else { return }
        take(plan)
        let context = shard.context
        guard let policy = context.configuration.destination.policy else {
            preconditionFailure("only clients of an explicit proxy name targets")
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
            perform(state.resolved(at: loop.now))
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
