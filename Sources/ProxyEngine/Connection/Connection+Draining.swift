import EventLoop
import FaultPlan
import Units

/// The drain policy of one connection, in memory that only connections with an end that is gone have.
final class DrainRecord {
    var policy: DrainPolicy

    init(_ policy: DrainPolicy) { self.policy = policy }
}

/// Connections with an end that is gone, or being let go, see `DrainPolicy` and `Linger`.
extension Connection {
    /// Receives in one turn at most: 8.
    private static let roundLimit = 8

    /// The connection as the policy sees it; `nil` when it has nothing to watch.
    private var drainView: DrainPolicy.View? {
        let view: DrainPolicy.View
        switch state.phase {
        case .accepted, .resolving, .held, .retrying:
            view = unconnectedView
        case .flowing where state.isHeldUp:
            // The client isn't read, so its end may never be seen, as where the server isn't dialed.
            view = unconnectedView
        case .connecting:
            let clientEnd = end(of: client)
            // The time of dialing is bounded already.
            if clientEnd == .open { return nil }
            // The client's bytes are for the server, which has as long as dialing may take.
            let hasBytes = client.receivable() > 0
            view = DrainPolicy.View(
                hasBytes ? .passing : .unconnected,
                client: clientEnd,
                server: hasBytes ? .open : .absent
            )
        case .flowing:
            view = flowingView
        case .blackholed:
            view = DrainPolicy.View(
                .severed,
                client: end(of: client),
                server: server.isOpen ? end(of: server) : .absent
            )
        case .negotiating, .replying, .unreached, .cutPending, .lingering, .closed:
            // Their time is bounded.
            return nil
        }
        return view.isOfConcern ? view : nil
    }

    private var unconnectedView: DrainPolicy.View {
        DrainPolicy.View(.unconnected, client: end(of: client), server: .absent)
    }

    private var flowingView: DrainPolicy.View {
        var view = DrainPolicy.View(.passing, client: end(of: client), server: end(of: server))
        let isSevered = up.link.isBlackholed || down.link.isBlackholed
        if view.client == .open, !isSevered, isClientHeld {
            view.situation = .held
            view.passed = up.link.delivered + down.link.delivered
            return view
        }
        if view.client == .open, view.server == .open, !isSevered { return view }
        let (unacknowledged, unread) = (server.isOpen ? server.unacknowledged() : 0, client.unacknowledged())
        view.passed = up.link.delivered + down.link.delivered - Int64(unacknowledged + unread)
        if isSevered {
            view.situation = .severed
            // In the direction that works, bytes in front of an end are still on their way.
            if view.client == .ended, !down.link.isBlackholed, down.isAlive || unread > 0 { view.server = .open }
            if view.server == .ended, !up.link.isBlackholed, up.isAlive || unacknowledged > 0 { view.client = .open }
        } else if up.link.isPaused || down.link.isPaused {
            view.situation = .blackholed
        } else if unacknowledged > 0 {
            view.situation = .unread
        }
        return view
    }

    /// Whether bytes of the client wait that the server would take, but for faults.
    private var isClientHeld: Bool { client.isReadable && server.isWritable && !up.link.isTransparent }

    private func end(of socket: StreamSocket) -> DrainPolicy.End {
        if socket === client, awaitsClient { return .open }
        if !socket.isOpen || socket.isBroken() || socket.hasPeerClosed { return .gone }
        return socket.hasPeerEnded ? .ended : .open
    }

    private func record(at now: Moment, passed: Int64) -> DrainRecord {
        if let drain { return drain }
        let record = DrainRecord(DrainPolicy(shard.limits, beginning: now, passed: passed))
        drain = record
        return record
    }

    /// Applies the drain policy, and probes ends that may be gone; returns whether the connection is released.
    func isDrained(at now: Moment) -> Bool {
        guard let view = drainView else { return false }
        let record = record(at: now, passed: view.passed)
        if case .release = record.policy.verdict(on: view, at: now) {
            abandon(reset: true)
            return true
        }
        let probes = record.policy.probes(of: view, at: now)
        if probes.client { client.probe(every: shard.limits.probeSeconds, count: shard.limits.probeCount) }
        if probes.server { server.probe(every: shard.limits.probeSeconds, count: shard.limits.probeCount) }
        return false
    }

    /// The rank of the connection among those that are released where descriptors run short; `nil` when it isn't.
    func shortageRank(at now: Moment) -> Int? {
        guard let view = drainView else { return nil }
        return record(at: now, passed: view.passed).policy.shortageRank(of: view, at: now)
    }

    /// Keeps both sockets open and passes nothing any more.
    func blackhole() {
        if let preamble, preamble.handOverBegan != nil { preamble.client?.withdraw() }
        closeLinks()
        shard.connectWatch.remove(self)
        drain = nil
        _ = isDrained(at: loop.now)
    }

    // MARK: The last end

    /// Gives `peer`, whose socket is the last, the time to take the rest. Returns what follows, if it is over.
    func linger(_ peer: Peer, _ goal: Linger.Goal) -> ConnectionActions? {
        let socket = self[peer]
        // A server that a fault has answered for is closed already.
        guard socket.isOpen else { return state.abandoned(reset: true) }
        closeLinks()
        shard.connectWatch.remove(self)
        let now = loop.now
        let record = record(at: now, passed: 0)
        let remaining = goal == .closure ? 0 : socket.unacknowledged()
        record.policy.linger = Linger(goal, shard.limits, remaining: remaining, at: now)
        if goal == .closure, self[peer.other].isOpen {
            record.policy.otherLinger = Linger(.closure, shard.limits, remaining: 0, at: now)
        }
        return keepLingering(peer)
    }

    /// Looks whether the rest has been taken, and returns what follows then.
    func keepLingering(_ peer: Peer) -> ConnectionActions? {
        guard let drain else { return nil }
        guard var linger = drain.policy.linger, linger.goal != .closure else { return keepClosing(peer, drain) }
        let (socket, now) = (self[peer], loop.now)
        let remaining = socket.unacknowledged()
        let verdict = linger.verdict(remaining: remaining, at: now)
        if verdict == .wait {
            // The last bytes may wait in the kernel for the end of the stream, which a reset has replaced.
            if linger.goal == .acknowledgement, linger.isFirstLook { socket.pushHeldBack() }
            _ = discard(from: socket, &linger)
        }
        let nextLook = linger.nextLook(after: now)
        drain.policy.linger = linger
        if verdict == .wait {
            setTimer(to: nextLook)
            return nil
        }
        reset(unacknowledging: remaining, socket)
        return state.abandoned(reset: false)
    }

    /// Ends the connection because the proxy stops.
    func stop() {
        // A cut that waits for the listener acts now.
        if case .cutPending = state.phase { perform(state.timerDue(at: loop.now)) }
        // A reset that waits for its acknowledgement must not become the end of the stream.
        if case .lingering(let peer) = state.phase, drain?.policy.linger?.goal == .acknowledgement {
            reset(unacknowledging: self[peer].unacknowledged(), self[peer])
        }
        // An end that still has bytes or a reset to come must not take this for the end of the stream.
        let isIncomplete =
            state.isFlowing
            && (up.link.isIncomplete(available: client.receivable())
                || down.link.isIncomplete(available: server.isOpen ? server.receivable() : 0))
        // A client of this process that isn't connected yet is refused.
        abandon(reset: awaitsClient || isIncomplete)
    }

    /// Resets an end, and reports the bytes that it hasn't acknowledged.
    private func reset(unacknowledging bytes: Int, _ socket: StreamSocket) {
        report(lost: bytes)
        socket.reset()
    }

    /// Drains both ends, which have been sent the end of the stream, until they close as well.
    private func keepClosing(_ peer: Peer, _ drain: DrainRecord) -> ConnectionActions? {
        let now = loop.now
        let isClosed = close(self[peer], whenDrained: &drain.policy.linger, at: now)
        let isOtherClosed = close(self[peer.other], whenDrained: &drain.policy.otherLinger, at: now)
        if isClosed, isOtherClosed { return state.abandoned(reset: false) }
        if client.isReadable && client.isOpen || server.isReadable && server.isOpen { queueTurn() }
        let deadlines = [drain.policy.linger, drain.policy.otherLinger].compactMap { $0?.deadline }
        setTimer(to: deadlines.min() ?? now)
        return nil
    }

    /// Receives and discards bytes of an end, and closes its socket when the end has closed as well or its limits are
    /// reached; returns whether it is closed.
    private func close(_ socket: StreamSocket, whenDrained linger: inout Linger?, at now: Moment) -> Bool {
        guard var current = linger else { return true }
        if current.verdict(remaining: 0, at: now) == .wait { _ = discard(from: socket, &current) }
        let isDone = current.verdict(remaining: 0, at: now) == .done
        linger = isDone ? nil : current
        guard isDone else { return false }
        // A close with unread bytes sends a reset, and the peer loses unacknowledged bytes.
        report(lost: socket.receivable() > 0 ? socket.unacknowledged() : 0)
        socket.close()
        return true
    }

    /// Waits until `peer` has taken the bytes of the other end, which is gone. Its own bytes are discarded while it takes
    /// nothing: it may send without receiving, and would wait for ever. Returns what follows when its time is over.
    func deliverRest(to peer: Peer) -> ConnectionActions? {
        let (socket, now) = (self[peer], loop.now)
        if socket.isWritable {
            drain?.policy.linger = nil
            return nil
        }
        let record = record(at: now, passed: 0)
        let queued = socket.queuedAtPeer()
        var linger = record.policy.linger ?? Linger(.acceptance, shard.limits, remaining: queued, at: now)
        let isBroken = discard(from: socket, &linger)
        let verdict = linger.verdict(remaining: queued, at: now)
        record.policy.linger = linger
        if isBroken || verdict == .done {
            if !isBroken { report(lost: socket.unacknowledged()) }
            return state.abandoned(reset: true)
        }
        if socket.isReadable, !linger.hasPeerEnded { queueTurn() }
        return nil
    }

    /// Receives and discards bytes of an end; returns whether its connection is broken.
    private func discard(from socket: StreamSocket, _ linger: inout Linger) -> Bool {
        for _ in 0..<Connection.roundLimit where socket.isReadable && !linger.hasPeerEnded {
            switch socket.receive(limit: EventLoop.scratchCapacity) {
            case .received(let chunk):
                linger.discard(chunk.count)
            case .ended:
                linger.peerEnded()
            case .wouldBlock:
                return false
            case .failed:
                linger.peerEnded()
                return true
            }
        }
        return false
    }

    private func report(lost bytes: Int) {
        // Without a number they are the reply to a failed handshake.
        if bytes > 0, ordinal > 0 { shard.context.tell(.unacknowledgedAtReset(connection: ordinal, bytes: bytes)) }
    }
}
