import FaultProfile
import Units

/// The life of one proxied connection as a state machine: a value that takes events and returns actions.
///
/// The machine has no socket, clock or timer. The engine's `Connection` reports events and carries out the actions. Every
/// event has the time as an argument, which never goes back.
///
/// | phase | left on |
/// |---|---|
/// | accepted | `started` |
/// | negotiating | the end of the handshake; its time limit |
/// | resolving | `resolved`, the time limit |
/// | held | the end of the faults that hold up dialing |
/// | retrying | the timer |
/// | connecting | `connected`, `dialFailed`, `dialTimedOut` |
/// | replying | `replySent`, the time limit |
/// | unreached | the client's first byte, the timer |
/// | flowing | the end of a link, a broken socket, a terminator |
/// | cut pending | the timer |
/// | lingering, blackholed | the drain policy |
public struct ConnectionState: Sendable {
    /// The longest wait of a connection that a fault ends until the listener refuses clients: 100 ms.
    static let refusalPatience: Int64 = 100_000_000
    /// The pause before dialing again when descriptors are short: 250 ms.
    static let descriptorPause: Int64 = 250_000_000
    /// The pause before dialing again when the accept queue is full: 5 ms.
    static let queuePause: Int64 = 5_000_000

    /// The phase.
    public internal(set) var phase = Phase.accepted
    /// Whether the client names its target in a handshake before anything is dialed.
    let negotiates: Bool
    let rules: EndingRules
    /// Whether a fault may end the connection. A copy, because access to `faults` is reference-counted.
    public internal(set) var mayTerminate: Bool
    /// Whether nothing takes the requests that the client still sends.
    private var dropsRequests = false
    var faults: ConnectionFaults
    /// One element, or none without a fault on the connection as a whole, so that it is changed in place.
    var watch: ContiguousArray<FaultWatch> = []
    /// The time at which the next address is dialed, or the connection fails.
    private var attemptDeadline = Moment.zero
    private var substitute: Substitute?
    private var dialDeadline: Moment?

    /// A response in the server's place.
    public final class Substitute: Sendable {
        /// The request, by its number from 1.
        public let request: Int64
        /// The response.
        public let answer: HTTPAnswer
        /// The identity of the fault.
        public let fault: Int
        /// A plan that has the fault; that of now may not.
        public let plan: Plan

        init(to request: Int64, _ answer: HTTPAnswer, by fault: Int, of plan: Plan) {
            (self.request, self.answer, self.fault, self.plan) = (request, answer, fault, plan)
        }

        /// The event for the journal.
        public var event: FaultEvent { .answer(to: request, by: fault) }
    }

    /// The state of a connection that was accepted at `opened`. With `negotiates` its client names the target in a
    /// handshake.
    public init(
        _ faults: ConnectionFaults,
        opened: Moment,
        negotiates: Bool = false,
        rules: EndingRules = EndingRules()
    ) {
        self.faults = faults
        self.negotiates = negotiates
        self.rules = rules
        mayTerminate = faults.terminators.arePossible
        if !hasNoFaults { watch = [FaultWatch(hold: faults.hold, passed: (0, opened))] }
    }

    /// Whether bytes are forwarded.
    public var isFlowing: Bool { if case .flowing = phase { true } else { false } }

    /// Whether the server is being connected.
    public var isDialing: Bool { if case .connecting = phase { true } else { false } }

    /// Whether no fault concerns the connection beside its links.
    public var hasNoFaults: Bool { faults === ConnectionFaults.none }

    // MARK: Events

    /// The client's socket is watched.
    public mutating func started(at now: Moment) -> ConnectionActions {
        negotiates ? negotiate(at: now) : begin(at: now)
    }

    /// The target is known: the faults of the connection's beginning act, then it is dialed.
    mutating func begin(at now: Moment) -> ConnectionActions {
        // Idleness doesn't count from before the handshake's end.
        if negotiates, !watch.isEmpty { watch[0].passed = (0, now) }
        if let end = terminated(at: now) { return resetLater(end, at: now) }
        phase = .held
        return hold(at: now)
    }

    /// The socket of `peer` can be read or written, or has ended.
    public mutating func ready(_ peer: Peer, at now: Moment) -> ConnectionActions {
        switch phase {
        case .accepted, .cutPending, .closed: ConnectionActions()
        case .negotiating(_, let pause): now < pause ? ConnectionActions() : ConnectionActions(.negotiate)
        case .replying: peer == .client ? ConnectionActions(.sendReply) : ConnectionActions()
        case .held: terminated(at: now) ?? hold(at: now)
        case .connecting where peer == .server: ConnectionActions(.finishDialing)
        case .unreached: ConnectionActions(.awaitFirstByte)
        case .resolving, .retrying, .connecting, .blackholed: ConnectionActions(.checkEnds)
        case .flowing: ConnectionActions(.run)
        case .lingering(let last): ConnectionActions(.keepLingering(last))
        }
    }

    /// The moment of the timer has come, or one before it.
    public mutating func timerDue(at now: Moment) -> ConnectionActions {
        switch phase {
        case .accepted, .closed:
            return ConnectionActions()
        case .negotiating(let deadline, let pause) where pause > .zero:
            return now < pause ? ConnectionActions(timer: pause) : negotiateAgain(until: deadline)
        case .negotiating(let deadline, _), .resolving(let deadline), .replying(_, let deadline):
            return now < deadline ? ConnectionActions(timer: deadline) : negotiationTimedOut(at: now)
        case .held:
            return terminated(at: now) ?? hold(at: now)
        case .retrying(let moment):
            if let end = terminated(at: now) { return end }
            return now < moment ? ConnectionActions(timer: min(moment, nextTermination(after: now))) : dial(at: now)
        case .connecting:
            return terminated(at: now) ?? ConnectionActions(timer: nextTermination(after: now))
        case .unreached(let deadline):
            return now < deadline ? ConnectionActions(timer: deadline) : close(both: .reset)
        case .flowing:
            return ConnectionActions(.run)
        case .cutPending(let sink, let how):
            return cut(sink, how)
        case .lingering(let last):
            return ConnectionActions(.keepLingering(last))
        case .blackholed:
            return ConnectionActions(.checkEnds)
        }
    }

    /// Dialing begins, with the first of `count` addresses or another one. All of them together may take `timeout`, in
    /// equal shares.
    public mutating func dialBegan(of count: Int, timeout: Duration, at now: Moment) {
        guard case .connecting(let address) = phase else { return }
        let deadline = dialDeadline ?? now + timeout
        dialDeadline = deadline
        attemptDeadline = now.advanced(byNanoseconds: (deadline - now).nanoseconds / Int64(max(1, count - address)))
    }

    /// The server's socket is connected. A client that waits for it gets a reply first.
    public mutating func connected(at now: Moment) -> ConnectionActions {
        if negotiates { return reply(.connected, .sendReply, at: now) }
        phase = .flowing
        return ConnectionActions(timer: .distantFuture)
    }

    /// Dialing one of `count` addresses failed.
    public mutating func dialFailed(_ failure: DialFailure, of count: Int, at now: Moment) -> ConnectionActions {
        guard case .connecting(let address) = phase else { return ConnectionActions() }
        let hasTime = dialDeadline.map { now < $0 } ?? true
        switch failure {
        case .outOfDescriptors where hasTime: return retry(after: ConnectionState.descriptorPause, at: now)
        case .queueIsFull where hasTime: return retry(after: ConnectionState.queuePause, at: now)
        case .outOfDescriptors, .queueIsFull, .refused, .timedOut: break
        }
        return address + 1 < count ? dial(address + 1, at: now) : fail(at: now)
    }

    /// Whether the address that is being dialed has had its share of the time.
    public func isDialOverdue(at now: Moment) -> Bool {
        if case .connecting = phase { now >= attemptDeadline } else { false }
    }

    /// The end of a stream is due on the link of `direction`.
    ///
    /// - Parameters:
    ///   - isOtherFinished: whether the other link has finished.
    ///   - plan: the plan that knows the fault of an `.answer`.
    ///   - now: the time.
    ///   - mayReconnect: see `terminated`; the event is noted already.
    public mutating func linkEnded(
        _ direction: Direction,
        _ ending: Ending,
        isOtherFinished: Bool,
        of plan: Plan,
        at now: Moment,
        mayReconnect: @autoclosure () -> Bool = false
    ) -> ConnectionActions {
        let (source, sink) = (Peer(sourceOf: direction), Peer(sinkOf: direction))
        switch ending {
        case .answer(let request, let fault):
            guard case .http(.answer(let answer)) = plan.fault(fault).kind else {
                preconditionFailure("only an http fault with an answer ends a stream in front of a request")
            }
            substitute = Substitute(to: request, answer, by: fault, of: plan)
            return ConnectionActions()
        case .finish where direction == .downstream && dropsRequests:
            // The client may still be sending a request that no server takes.
            return linger(.client, .closure, after: ConnectionActions(.client, .endStream))
        case .finish:
            // Closing both sockets sends the end of the stream as well.
            return isOtherFinished ? ConnectionActions() : ConnectionActions(sink, .endStream)
        case .reset:
            return reset(source)
        case .cut(let how):
            guard how != .silence, mayReconnect() else { return cut(sink, how) }
            phase = .cutPending(sink, how)
            return ConnectionActions(
                timer: now.advanced(byNanoseconds: ConnectionState.refusalPatience),
                .awaitRefusal
            )
        case .alert:
            return closeInOrder(sink)
        }
    }

    /// The server has closed its socket after the end of its stream: the client has a while to close its own.
    public mutating func serverClosed() -> ConnectionActions {
        guard case .flowing = phase else { return ConnectionActions() }
        return linger(.client, .closure, after: ConnectionActions())
    }

    /// Both links have moved what they could, in phase `flowing`. `isBroken` asks whether the socket of an end is broken
    /// (ECONNRESET and the like), where nothing else reports it.
    public mutating func linksMoved(_ up: LinkState, _ down: LinkState, isBroken: (Peer) -> Bool) -> ConnectionActions {
        switch (up, down) {
        case (.open, .open):
            return ConnectionActions()
        case (.open, .sinkBroken):
            return ConnectionActions(.deliverRest(to: .server))
        case (.sinkBroken, .open):
            return ConnectionActions(.deliverRest(to: .client))
        case (.finished, .finished):
            return close(both: .close)
        case (.finished, .open):
            return isBroken(.client) ? reset(.client) : ConnectionActions()
        case (.open, .finished):
            return isBroken(.server) ? reset(.server) : ConnectionActions()
        case (.sinkBroken, .finished):
            return reset(.server)
        case (.finished, .sinkBroken):
            return reset(.client)
        case (.sinkBroken, .sinkBroken):
            return close(both: .reset)
        }
    }

    /// The connection ends now, in any phase: by FIN, or by RST with `reset`.
    public mutating func abandoned(reset: Bool) -> ConnectionActions { close(both: reset ? .reset : .close) }

    /// The faults have changed; `bytes` have passed so far.
    public mutating func update(_ update: ConnectionUpdate, passed bytes: Int64, at now: Moment) {
        let (last, endPendingSince) = (watch.first?.hold, watch.first?.endPendingSince)
        // Idleness that was not counted so far begins here.
        let passed = mayTerminate ? watch[0].passed : (bytes, now)
        faults = ConnectionFaults(terminators: update.terminators(after: faults.terminators), hold: nil)
        mayTerminate = faults.terminators.arePossible
        watch = [FaultWatch(hold: update.hold(after: last), passed: passed, endPendingSince: endPendingSince)]
    }

    /// What is due after an `update`.
    public mutating func updated(at now: Moment) -> ConnectionActions {
        switch phase {
        case .held:
            return terminated(at: now) ?? hold(at: now)
        case .retrying(let moment):
            return terminated(at: now) ?? ConnectionActions(timer: min(moment, nextTermination(after: now)))
        case .connecting:
            return terminated(at: now) ?? ConnectionActions(timer: nextTermination(after: now))
        case .flowing:
            return ConnectionActions(.runSoon)
        case .accepted, .negotiating, .resolving, .replying, .unreached, .cutPending, .lingering, .blackholed, .closed:
            return ConnectionActions()
        }
    }

    // MARK: Bytes

    /// Whether faults hold up the connection, or the first bytes whose name has brought them.
    public var isHeldUp: Bool { !watch.isEmpty && watch[0].hold != nil }

    /// How long faults hold up the connection, or its first bytes, and the event of one that begins to act.
    public mutating func advanceHold(at now: Moment) -> (verdict: DialHold.Verdict, event: FaultEvent?) {
        guard !watch.isEmpty, let result = watch[0].hold?.advance(at: now) else { return (.pass, nil) }
        if result.verdict == .pass { watch[0].hold = nil }
        return result
    }

    /// `bytes` have passed in both directions together by `now`.
    public mutating func notePassed(_ bytes: Int64, at now: Moment) {
        guard mayTerminate, bytes != watch[0].passed.bytes else { return }
        watch[0].passed = (bytes, now)
        watch[0].spacing.refresh()
    }

    /// The request, by its number from 1, that waits for a response in the server's place; `nil` when none does.
    public var requestToAnswer: Int64? { substitute?.request }

    /// Takes the response in the server's place. From here on the stream to the client ends with it.
    public mutating func takeAnswer() -> Substitute? {
        guard let taken = substitute else { return nil }
        substitute = nil
        dropsRequests = true
        return taken
    }

    /// Gives up the response in the server's place, because it can't follow those of the server. The stream to the server
    /// ends as after that of a client, and the client gets what the server still sends.
    public mutating func answerFailed() -> ConnectionActions {
        substitute = nil
        dropsRequests = true
        return ConnectionActions(.server, .endStream)
    }

    // MARK: Transitions

    private mutating func hold(at now: Moment) -> ConnectionActions {
        let (verdict, event) = advanceHold(at: now)
        switch verdict {
        case .wait(let moment):
            return ConnectionActions(event: event, timer: min(moment, nextTermination(after: now)), .checkEnds)
        case .pass: return dial(at: now)
        case .fail: return fail(at: now)
        }
    }

    private mutating func dial(_ address: Int = 0, at now: Moment) -> ConnectionActions {
        phase = .connecting(address: address)
        return ConnectionActions(timer: nextTermination(after: now), .dial(address: address))
    }

    private mutating func retry(after pause: Int64, at now: Moment) -> ConnectionActions {
        let next = min(now.advanced(byNanoseconds: pause), dialDeadline ?? .distantFuture)
        phase = .retrying(at: next)
        return ConnectionActions(timer: min(next, nextTermination(after: now)))
    }

    /// Cuts the stream to `sink`.
    private mutating func cut(_ sink: Peer, _ how: Cut.Ending) -> ConnectionActions {
        switch how {
        case .reset: reset(sink.other)
        case .silence: blackhole()
        case .close, .notify: rules.closesAtOnce ? close(both: .close) : closeInOrder(sink)
        }
    }

    /// Ends both streams, and waits for the ends to close as well.
    private mutating func closeInOrder(_ sink: Peer) -> ConnectionActions {
        linger(sink, .closure, after: ConnectionActions(server: .endStream, client: .endStream))
    }

    /// The connection of `peer` is broken or cut: resets it, and the other end once that has taken everything.
    private mutating func reset(_ peer: Peer) -> ConnectionActions {
        linger(peer.other, .acknowledgement, after: ConnectionActions(peer, .reset))
    }

    mutating func linger(_ peer: Peer, _ goal: Linger.Goal, after actions: ConnectionActions)
        -> ConnectionActions
    {
        phase = .lingering(peer)
        var actions = actions
        actions.next = .linger(peer, goal)
        return actions
    }

    mutating func blackhole() -> ConnectionActions {
        phase = .blackholed
        return ConnectionActions(timer: .distantFuture, .blackhole)
    }

    mutating func close(both action: ConnectionActions.SocketAction) -> ConnectionActions {
        defer { phase = .closed }
        switch phase {
        case .closed:
            return ConnectionActions()
        case .lingering:
            // What an end hasn't taken is still delivered.
            return ConnectionActions(server: .close, client: .close, .finish)
        case .accepted, .negotiating, .resolving, .held, .retrying, .unreached:
            return ConnectionActions(client: action, .finish)
        case .connecting, .replying, .flowing, .cutPending, .blackholed:
            return ConnectionActions(server: action, client: action, .finish)
        }
    }
}
