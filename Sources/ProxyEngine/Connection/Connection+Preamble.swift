import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import StreamReading
import Units

/// What the client says before its bytes flow, see `Preamble`.
///
/// The bytes of a handshake don't count in the links. First bytes wait until the name in them is known, and its faults begin
/// in front of them; the server's bytes don't wait.
extension Connection {
    /// The preamble of a client that names its target.
    private var negotiation: Preamble {
        guard let preamble else { preconditionFailure("the preamble of a forward proxy lasts until bytes flow") }
        return preamble
    }

    func negotiate() {
        guard let target = negotiation.client?.target else { return read(negotiation) }
        lookUpTarget(HostName(target.host, port: target.port))
    }

    private func lookUpTarget(_ host: HostName) {
        self.host = host
        perform(state.handshakeEnded(lookupLimit: shard.context.configuration.connectTimeout, at: loop.now))
    }

    /// Reads on in a preamble, as far as the client takes the replies.
    private func read(_ preamble: Preamble) {
        var step = preamble.pending
        preamble.pending = .more
        while step == .more {
            guard hasSentReplies(of: preamble) else { return }
            switch client.isReadable ? client.receive(limit: preamble.room) : .wouldBlock {
            case .received(let chunk):
                step = loop.withScratch(chunk.count) { preamble.read($0, at: loop.now, reached: reached) }
                if let isRight = preamble.handshake.takePasswordTry(), !answersTry(isRight, step, preamble) { return }
            case .wouldBlock:
                if loop.now < preamble.wake { return }
                step = .pass
            case .ended, .failed:
                if preamble.part == .handshake { return abandon(reset: false) }
                // The pump receives it again.
                step = .pass
            }
        }
        follow(step, preamble)
    }

    /// Goes on with what the client's bytes amount to.
    private func follow(_ step: Preamble.Step, _ preamble: Preamble) {
        switch step {
        case .more:
            break
        case .target(let target):
            lookUpTarget(HostName(target.host, port: target.port))
        case .refused:
            perform(state.handshakeRefused(at: loop.now))
        case .name(let text):
            intercept(text, preamble)
            if hasNamedHost { passFirstBytes(preamble) } else { findFaults(for: text, preamble) }
        case .pass:
            intercept(nil, preamble)
            passFirstBytes(preamble)
        }
    }

    /// Whether the client has named a host in its handshake, and no address.
    var hasNamedHost: Bool { host.map { IPAddress($0.host) == nil } ?? false }

    // MARK: The handshake

    /// Whether a password is answered now. If not, the answer waits for its time, or the connection has ended because too many
    /// wait.
    private func answersTry(_ isRight: Bool, _ step: Preamble.Step, _ preamble: Preamble) -> Bool {
        let (now, address) = (loop.now, client.peerAddress?.host ?? "")
        let moment = shard.context.passwordTries.withLock { $0.answer(isRight: isRight, to: address, at: now) }
        guard let moment else {
            abandon(reset: true)
            return false
        }
        guard moment > now else { return true }
        preamble.pending = step
        perform(state.handshakePaused(until: moment))
        return false
    }

    /// The address of the proxy that the client has connected to.
    private func reached() -> ProxyTarget? {
        client.localAddress?.canonical.target
    }

    /// Has the listener number the connection and make its faults; then its target's name is looked up.
    func resolve() {
        // Its address is known, and its plan made.
        if negotiation.client != nil { return perform(state.resolved(at: loop.now)) }
        guard let target = negotiation.target else { preconditionFailure("a target is known before it is looked up") }
        let (opened, facts) = (opened, facts())
        let termination = shard.context.configuration.termination(for: facts.target)
        request({ $0.accept(at: opened, facts, termination) }, for: { $0.lookUp(target, with: $1) })
    }

    /// Looks up the target's name, off the loop.
    private func lookUp(_ target: ProxyTarget, with plan: ConnectionPlan) {
        // The client may be gone.
        guard case .resolving = state.phase else { return }
        adopt(plan)
        let context = shard.context
        guard let policy = context.configuration.destination.policy else {
            preconditionFailure("only clients of a forward proxy name targets")
        }
        let bound = LoopBound(self, on: loop)
        context.lookups.find(target, policy, for: context, on: loop) { result in
            bound.value.resolved(target, result)
        }
    }

    private func resolved(_ target: ProxyTarget, _ result: Result<[SocketAddress], TargetProblem>) {
        // The time may be over, or the client gone.
        guard case .resolving = state.phase, let preamble else { return }
        switch result {
        case .success(let addresses):
            preamble.addresses = addresses
            perform(state.resolved(at: loop.now))
        case .failure(let problem):
            shard.noteFailure()
            switch problem {
            case .unresolved(let error):
                shard.context.tell(.targetUnreachable("\(target)", error))
                preamble.handshake.fail(.unresolved, "can't find the address of \(target.host): \(error.reason)")
            case .forbidden:
                shard.context.tell(.targetForbidden("\(target)"))
                preamble.handshake.fail(
                    .forbidden,
                    "\(target) is an address of the proxy's own machine or a link-local one, which it doesn't connect to"
                )
            case .overloaded:
                preamble.handshake.fail(
                    .overloaded,
                    "\(TargetLookups.limit) names are being looked up, which is the limit; try again"
                )
            }
            perform(state.handshakeRefused(at: loop.now))
        }
    }

    /// Reports that the target can't be reached, or that the handshake takes too long, and tells the client.
    func refuse(_ error: SystemError) {
        let preamble = negotiation
        if let client = preamble.client {
            shard.noteFailure()
            client.end(.failed(error.code))
        } else if let target = preamble.target {
            shard.noteFailure()
            shard.context.tell(.targetUnreachable("\(target)", error))
            preamble.handshake.fail(HandshakeFailure(dialing: error), "can't connect to \(target): \(error.reason)")
        } else {
            preamble.handshake.fail(.tooSlow, "the request has not come within 10 s")
        }
        sendReply()
    }

    /// Sends the reply that ends the handshake; the rest follows when the client's socket has room.
    func sendReply() {
        guard hasSentReplies(of: negotiation) else { return }
        perform(state.replySent())
        if state.isFlowing { flow(at: loop.now) }
    }

    /// Sends the replies of the handshake, in order; `false` when some are left, or the connection has ended.
    private func hasSentReplies(of preamble: Preamble) -> Bool {
        preamble.unsent += preamble.handshake.takeReply()
        while !preamble.unsent.isEmpty {
            guard client.isWritable else { return false }
            loop.fillScratch(with: preamble.unsent)
            switch client.sendScratch(from: 0, length: preamble.unsent.count) {
            case .sent(let count):
                preamble.unsent.removeFirst(count)
            case .wouldBlock:
                return false
            case .failed:
                abandon(reset: true)
                return false
            }
        }
        return true
    }

    // MARK: The first bytes

    /// Has the first bytes wait here, if some have come with a handshake, a fault asks for the name in them, or TLS may be
    /// intercepted.
    ///
    /// A client that has named a host in its handshake isn't asked again. Of a request in absolute form the reader finds the end.
    func beginFirstBytes(at now: Moment) {
        var isNamed = shard.plan.asksForHost && !hasNamedHost && name == nil
        if let preamble {
            let boundary = preamble.handshake.boundary
            if let boundary { readerOfOwn().forwardOnly(boundary) }
            isNamed = (isNamed || tls?.contentPlan != nil) && boundary == nil
        } else if isNamed {
            preamble = Preamble()
        }
        preamble?.beginFirstBytes(lookingForName: isNamed, at: now)
        up.isHeld = preamble != nil
    }

    /// Goes on with the first bytes, which pass when nothing holds them up.
    func advanceFirstBytes(_ preamble: Preamble, at now: Moment) {
        switch preamble.part {
        case .handshake, .awaitingFaults: break
        case .name: read(preamble)
        case .end: holdFirstBytes(preamble, at: now)
        }
    }

    private func holdFirstBytes(_ preamble: Preamble, at now: Moment) {
        let wasHeldUp = state.isHeldUp
        let (verdict, event) = state.advanceHold(at: now)
        if let event { record(event, nil, now) }
        switch verdict {
        case .wait(let moment):
            preamble.wake = moment
            _ = isDrained(at: now)
        case .pass:
            // The policy of a connection that was held up begins anew.
            if wasHeldUp { drain = nil }
            passFirstBytes(preamble)
        case .fail:
            shard.noteFailure()
            abandon(reset: true)
        }
    }

    /// Has the listener make the faults for the name in the first bytes, if there are any.
    private func findFaults(for text: String, _ preamble: Preamble) {
        preamble.part = .awaitingFaults
        if !findsFaults(for: text, { $0.take($1, for: $2) }) { passFirstBytes(preamble) }
    }

    /// Has the listener make the faults for a name, and calls `body` with them; returns `false` if there are none.
    func findsFaults(
        for text: String,
        _ body: @escaping @Sendable (Connection, ConnectionUpdate, HostName) -> Void
    ) -> Bool {
        var facts = facts()
        let name = HostName(text, port: facts.port)
        facts.name = name
        guard shard.plan.hasFaults(forNameOf: ordinal, facts, on: layer) else {
            self.name = name
            return false
        }
        let (ordinal, opened, named, layer) = (ordinal, opened, facts, layer)
        request({ $0.update(ofConnection: ordinal, opened: opened, named, on: layer) }, for: { body($0, $1, name) })
        return true
    }

    private func take(_ update: ConnectionUpdate, for name: HostName) {
        guard state.isFlowing, let preamble, preamble.part == .awaitingFaults else { return }
        // Not before: a change of the profile that came in between knows nothing of the name, and these faults are of it.
        self.name = name
        if !update.isEmpty {
            if let window = update.receiveWindow[.upstream] { client.setReceiveBuffer(Int(window.bytes)) }
            if let window = update.receiveWindow[.downstream] { server.setReceiveBuffer(Int(window.bytes)) }
            apply(update, at: loop.now)
        }
        preamble.part = .end
        queueTurn()
    }

    private func passFirstBytes(_ preamble: Preamble) {
        self.preamble = nil
        up.isHeld = false
        guard !preamble.firstBytes.isEmpty, up.isAlive else { return }
        let (bytes, now) = (preamble.firstBytes, loop.now)
        _ = handle(up.begin(with: bytes, reader, to: server, now: now) ?? .waiting, .upstream, at: now)
    }
}
