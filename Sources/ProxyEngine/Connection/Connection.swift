import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import StreamReading
import Units

/// A client's connection and the one to the server, on one loop from accept to close.
///
/// Reports events to a `ConnectionState` and carries out the actions that it returns. Two `LinkPump`s move the bytes.
final class Connection: LoopHandler {
    enum Tag {
        static let client = 0
        static let server = 1
        static let timer = 2
        static let turn = 3
    }

    // The small ones lie beside each other, here and at the end, to save memory.

    /// The index in the shard's list.
    var shardIndex: Int32 = 0
    /// The index among the connections that dial; −1 for others.
    var dialIndex: Int32 = -1
    let shard: Shard
    let loop: EventLoop
    /// That of a client of this process is closed until the target is connected.
    let client: StreamSocket
    /// Closed until the upstream is dialed.
    let server: StreamSocket
    /// The connection's number; 0 until the client of a forward proxy has named its target.
    private(set) var ordinal: UInt64
    /// The connection's number among those to its target, from 1; 0 without a target.
    private(set) var numberAtTarget: UInt64
    /// The client, if it is one of this process.
    let local: LocalClient?
    let opened: Moment
    var state: ConnectionState
    /// Reads the streams for faults that ask for positions in them; that of the shard, which is idle, if none does.
    private(set) var reader: StreamReader { didSet { readerInUse = UncountedReference(reader) } }
    /// `reader` without reference counting, for the hot path.
    private var readerInUse: UncountedReference<StreamReader>
    var up: LinkPump
    var down: LinkPump
    private var timer = LazyTimer()
    /// The drain policy of a connection with an end that is gone; `nil` while both are there.
    var drain: DrainRecord?
    /// The proxies that the connection has come through, where one of them might accept its own; `nil` elsewhere.
    var forwardingPath: ForwardingPath?
    /// What the client says before its bytes flow; `nil` when they do, or where nothing asks for it.
    var preamble: Preamble?
    /// The host that the client has named in its handshake, if it has.
    var host: HostName?
    /// The name in the client's first bytes, if it is known.
    var name: HostName?
    /// The names of the faults that have acted on it, see `ConnectionSummary.faults`.
    private(set) var actedFaults: [String] = []
    /// The receive buffer of the socket to the server, in bytes, if a fault bounds it.
    private(set) var serverWindow: Int32?
    /// What it has for TLS; `nil` without.
    var tls: TLSLeg?
    /// What captures it; `nil` without a capture.
    var capture: ConnectionCapture?
    /// Whether faults act on messages, as far as is known.
    var readsMessages: Bool
    private var isQueued = false
    /// Whether a client of this process waits for the target, with its socket.
    var awaitsClient = false

    /// A connection for an accepted socket that is not watched yet.
    init(
        _ client: StreamSocket,
        of local: LocalClient? = nil,
        plan: ConnectionPlan,
        shard: Shard,
        layer: FaultLayer? = nil
    ) {
        self.client = client
        self.shard = shard
        loop = shard.loop
        ordinal = plan.ordinal
        numberAtTarget = plan.numberAtTarget ?? 0
        self.local = local
        opened = plan.opened
        server = StreamSocket(closedOn: loop)
        serverWindow = plan.receiveWindow[.downstream].map { Int32(clamping: $0.bytes) }
        if layer != .content, let policy = shard.context.configuration.destination.policy {
            let authority = shard.context.configuration.tls.authority
            preamble = Preamble(ProxyHandshake(password: policy.password, authority: authority), of: local)
        }
        state = ConnectionState(
            plan.faults,
            opened: plan.opened,
            negotiates: preamble != nil,
            rules: shard.context.configuration.endings
        )
        readsMessages = plan.reading.messages
        let reading = layer == .wire ? plan.reading : shard.interest(plan.reading)
        reader = reading.isNone ? shard.idleReader : StreamReader(reading)
        readerInUse = UncountedReference(reader)
        up = LinkPump(plan.upstream)
        down = LinkPump(plan.downstream)
        super.init()
        if layer != nil { tls = TLSLeg(layer, plan.faults.handshake) }
        adopt(plan.content)
        equip(client, for: plan)
    }

    private func equip(_ client: StreamSocket, for plan: ConnectionPlan) {
        if let window = plan.receiveWindow[.upstream] { client.setReceiveBuffer(Int(window.bytes)) }
        if plan.upstream.countsFromArrival { client.stampArrivals() }
    }

    /// Takes the number and the faults of a connection whose target is known now. No byte has passed.
    func adopt(_ plan: ConnectionPlan) {
        ordinal = plan.ordinal
        numberAtTarget = plan.numberAtTarget ?? 0
        serverWindow = plan.receiveWindow[.downstream].map { Int32(clamping: $0.bytes) }
        up.close(loop)
        down.close(loop)
        up = LinkPump(plan.upstream)
        down = LinkPump(plan.downstream)
        readsMessages = plan.reading.messages
        let reading = shard.interest(plan.reading)
        if !reading.isNone { reader = StreamReader(reading) }
        state.adopt(plan.faults)
        adopt(plan.content)
        equip(client, for: plan)
    }

    private func adopt(_ content: ContentPlan?) {
        guard let content else { return }
        tls = tls ?? TLSLeg()
        tls?.contentPlan = content
    }

    subscript(peer: Peer) -> StreamSocket {
        switch peer {
        case .client: client
        case .server: server
        }
    }

    var passedBytes: (upstream: Int64, downstream: Int64) { (up.link.delivered, down.link.delivered) }

    /// The bytes that faults hold now.
    var heldBytes: Int64 { up.link.held + down.link.held + Int64(up.isHeld ? preamble?.firstBytes.count ?? 0 : 0) }

    func addBytes(to statistics: inout Statistics) {
        statistics.upstreamBytes += up.link.delivered
        statistics.downstreamBytes += down.link.delivered
        statistics.upstreamReceived += up.link.taken
        statistics.downstreamReceived += down.link.taken
        statistics.lostBytes += up.link.lostBytes + down.link.lostBytes
    }

    // MARK: Events

    func start() {
        if let local = preamble?.client {
            awaitsClient = true
            guard local.begin(by: self) else { return abandon(reset: true) }
        } else {
            client.watch(by: self, tag: Tag.client)
        }
        perform(state.started(at: loop.now))
    }

    override func socketIsReady(_ tag: Int) {
        // A connection that waits for its turn leaves this one to others.
        if tag == Tag.turn { isQueued = false } else if isQueued, state.isFlowing { return }
        if state.isFlowing { run() } else { perform(state.ready(tag == Tag.server ? .server : .client, at: loop.now)) }
    }

    override func timerFired(_ tag: Int) {
        if state.isFlowing { return run() }
        perform(state.timerDue(at: loop.now))
        handOverAgain()
    }

    /// A client of this process has given up.
    func localClientIsGone() {
        if awaitsClient { abandon(reset: true) }
    }

    /// Ends the connection at once: by RST with `reset`, else by FIN.
    func abandon(reset: Bool) { perform(state.abandoned(reset: reset)) }

    /// Terminates the connection if a fault is due at `now`; returns whether the links must not move now.
    func isTerminated(at now: Moment) -> Bool {
        guard state.mayTerminate else { return false }
        let shard = shard
        let end = state.terminated(at: now) { event in
            // A refusal may come after the fault.
            shard.context.note(event, of: shard.plan)
            return shard.clientsMayReconnect(at: now)
        }
        guard let end else { return false }
        perform(end)
        return true
    }

    // MARK: Actions

    /// Carries out `actions`, and those that follow from them. `error` is the cause of a failure to reach the server; `nil` is
    /// that the time is over.
    func perform(_ actions: ConnectionActions, error: SystemError? = nil) {
        var next: ConnectionActions? = actions
        while let actions = next {
            next = nil
            if let event = actions.event {
                record(event, nil, loop.now)
                if event.effect == .cuts(.notify) { noteCut(.cut(.notify)) }
            }
            perform(actions.server, on: server)
            perform(actions.client, on: client)
            if actions.client != .none { preamble?.client?.end(.ended(reset: actions.client == .reset)) }
            if let moment = actions.timer { setTimer(to: moment) }
            switch actions.next {
            case .proceed: break
            case .negotiate: negotiate()
            case .resolve: resolve()
            case .sendReply: sendReply()
            case .refuse: refuse(error ?? .connectTimeOut)
            case .dial(let address): dial(address, after: error)
            case .finishDialing: finishDialing()
            case .run: run()
            case .runSoon: queueTurn()
            case .awaitRefusal: shard.awaitRefusal(self)
            case .deliverRest(let peer): next = deliverRest(to: peer)
            case .linger(let peer, let goal): next = linger(peer, goal)
            case .keepLingering(let peer): next = keepLingering(peer)
            case .blackhole: blackhole()
            case .checkEnds: _ = isDrained(at: loop.now)
            case .fail:
                shard.noteFailure()
                if let upstream {
                    shard.context.tell(.upstreamUnreachable(upstream, error ?? .connectTimeOut))
                }
                next = refuseClient() ? state.abandoned(reset: false) : state.failureReported()
            case .awaitFirstByte:
                // A reset that comes before the client has seen its connection looks like one that was refused.
                if client.receivable() > 0 || client.hasPeerEnded || client.isBroken() { next = state.firstByteCame() }
            case .finish:
                finish()
            }
        }
    }

    private func perform(_ action: ConnectionActions.SocketAction, on socket: StreamSocket) {
        switch action {
        case .none: break
        case .endStream: socket.shutdownWrite()
        case .close: socket.close()
        case .reset: socket.reset()
        }
    }

    func setTimer(to moment: Moment) {
        guard moment < .distantFuture else { return timer.cancel() }
        timer.set(to: moment, for: self, tag: Tag.timer, on: loop)
    }

    func queueTurn() {
        if isQueued { return }
        isQueued = true
        loop.callSoon(self, tag: Tag.turn)
    }

    func closeLinks() {
        preamble = nil
        up.close(loop)
        down.close(loop)
    }

    /// Ends the life of a connection whose sockets are closed.
    private func finish() {
        closeLinks()
        setTimer(to: .distantFuture)
        shard.connectWatch.remove(self)
        forwardingPath?.end()
        tls?.takeConnected()?.close()
        shard.remove(self)
    }

    /// Records the events of a link, whose faults are in `plan`, or in the shard's.
    func recordEvents(of direction: Direction, in plan: Plan? = nil, at now: Moment) {
        switch direction {
        case .upstream where !up.link.events.isEmpty:
            for event in up.link.takeEvents() { record(event, direction, now, in: plan) }
        case .downstream where !down.link.events.isEmpty:
            for event in down.link.takeEvents() { record(event, direction, now, in: plan) }
        case .upstream, .downstream:
            break
        }
    }

    private func recordResumptions(at now: Moment) {
        for message in reader.takeResumptions() {
            shard.context.configuration.resumed?(
                Resumption(
                    moment: now,
                    connection: ordinal,
                    direction: message.status == nil ? .upstream : .downstream,
                    offset: message.resourceStart ?? 0
                )
            )
        }
    }

    /// Records an event of a fault of `plan`, or of the shard's.
    func record(_ event: FaultEvent, _ direction: Direction?, _ now: Moment, in plan: Plan? = nil) {
        if let capture {
            let plan = plan ?? shard.plan
            let entry = plan.journalEntry(of: event, connection: ordinal, direction: direction, at: now)
            capture.note(entry, of: plan)
        }
        guard let name = shard.record(event, of: plan, connection: ordinal, direction: direction, at: now),
            actedFaults.count < ConnectionSummary.faultLimit, !actedFaults.contains(name)
        else { return }
        actedFaults.append(name)
    }

    // MARK: Bytes

    /// Begins to forward: both ends are there.
    func flow(at now: Moment) {
        if down.link.countsFromArrival { server.stampArrivals() }
        up.link.begin(at: now)
        down.link.begin(at: now)
        if isTerminated(at: now) { return }
        // A cut in front of the first byte acts before a byte goes the other way.
        guard awaitsHello || move(.downstream, at: now) != nil else { return }
        beginFirstBytes(at: now)
        run()
    }

    private func run() {
        let now = loop.now
        shard.note(due: min(self.up.wake, self.down.wake), now: now)
        if isTerminated(at: now) { return }
        if let preamble {
            advanceFirstBytes(preamble, at: now)
            guard state.isFlowing else { return }
            if awaitsHello {
                return setTimer(to: min(self.preamble?.wake ?? .distantFuture, state.nextTermination(after: now)))
            }
        }
        guard let up = move(.upstream, at: now) else { return }
        if isAnswerDue { answer(at: now) }
        guard let down = move(.downstream, at: now) else { return }
        if isAnswerDue || up.state == .open && !reader.isIdle && reader.mustRelease(.upstream) { queueTurn() }
        if up.state != .open || down.state != .open {
            perform(state.linksMoved(up.state, down.state, isBroken: isBroken))
            guard state.isFlowing else { return }
        }
        if up.isBlackholed || down.isBlackholed, isDrained(at: now) { return }
        if tls?.layer == .wire, down.state == .finished, server.hasPeerClosed { return perform(state.serverClosed()) }
        state.notePassed(up.passed + down.passed, at: now)
        // Two at a time: of more, the library makes an array.
        var wake = min(min(up.wake, down.wake), state.nextTermination(after: now))
        if let preamble { wake = min(wake, preamble.wake) }
        if let deadline = drain?.policy.linger?.deadline { wake = min(wake, deadline) }
        setTimer(to: wake)
    }

    /// Moves the bytes of one direction; `nil` if the connection doesn't flow any more.
    private func move(_ direction: Direction, at now: Moment) -> LinkPump.Report? {
        let report =
            switch direction {
            case .upstream:
                readerInUse.use { up.run(from: client, to: server, reader: $0, now: now) }
            case .downstream:
                readerInUse.use { down.run(from: server, to: client, reader: $0, now: now) }
            }
        return handle(report.outcome, direction, hasEvents: report.hasEvents, at: now) ? report : nil
    }

    /// Handles the outcome of one direction, which has events unless `hasEvents` is false; returns whether the connection
    /// still flows.
    func handle(_ outcome: LinkPump.Outcome, _ direction: Direction, hasEvents: Bool = true, at now: Moment) -> Bool {
        if hasEvents { recordEvents(of: direction, at: now) }
        if shard.watchesTransfers, layer != .wire { recordResumptions(at: now) }
        switch outcome {
        case .waiting, .sinkBroken:
            // `linksMoved` handles a broken sink, after the other direction has moved its bytes.
            return true
        case .again:
            queueTurn()
            return true
        case .ended(let ending):
            if ending == .finish { noteNotice(of: direction) } else { noteCut(ending) }
            let isOtherFinished = direction == .upstream ? down.link.isFinished : up.link.isFinished
            let shard = shard
            perform(
                state.linkEnded(
                    direction,
                    ending,
                    isOtherFinished: isOtherFinished,
                    of: shard.plan,
                    at: now,
                    mayReconnect: shard.clientsMayReconnect(at: now)
                )
            )
            return state.isFlowing
        }
    }

    private func isBroken(_ peer: Peer) -> Bool {
        switch peer {
        case .client: client.isBroken()
        // A probe makes a server that has closed its socket answer by a reset.
        case .server: server.isBroken() && !server.hasKeepAlive
        }
    }

    /// Whether a request waits for a response in the server's place, and those to the requests before it have come, or
    /// one of them can't be read.
    private var isAnswerDue: Bool {
        guard let request = state.requestToAnswer else { return false }
        return !reader.canAnswer || reader.hasAnswered(requestsBefore: request)
    }

    private func answer(at now: Moment) {
        // Nothing follows the end of the server's stream.
        guard reader.canAnswer, down.link.sourceEnd == nil else { return perform(state.answerFailed()) }
        guard let substitute = state.takeAnswer() else { return }
        // Before the client can see the answer, and while the server's end can carry the comment of a capture.
        let isKept = shard.plan.hasFault(substitute.fault)
        record(substitute.event, .upstream, now, in: isKept ? shard.plan : substitute.plan)
        server.close()
        down.inject(reader.text(of: substitute.answer, to: substitute.request), in: loop)
    }

    func read(_ interest: StreamInterest) {
        let interest = layer == .wire ? interest : shard.interest(interest)
        readerOfOwn().apply(interest, upstream: up.link.taken, downstream: down.link.taken)
    }

    /// The connection's own reader: the shard's idle one is shared.
    func readerOfOwn() -> StreamReader {
        if reader === shard.idleReader { reader = StreamReader(StreamInterest()) }
        return reader
    }
}
