import EventLoop
import FaultPlan
import FaultProfile
import StreamReading
import Units

/// One client's connection and the one to the server behind it, on one loop from accept to close.
final class Connection: LoopHandler {
    private enum Tag {
        static let client = 0
        static let server = 1
        static let timer = 2
        static let turn = 3
    }

    private enum State {
        /// Waiting to connect, because the first packets were lost, until the moment.
        case delayed(until: Moment, ConnectDelay)
        /// Connecting to the upstream's address of this index.
        case connecting(server: StreamSocket, address: Int)
        /// Bytes flow.
        case flowing(server: StreamSocket)
        /// The receiver of a cut, or of the other side's end, is being let go.
        case parting(Parting)
        case closed
    }

    /// The place in the shard's list.
    var position = 0
    private let shard: Shard
    private let client: StreamSocket
    private let ordinal: UInt64
    private let interruptions: Interruptions
    /// The receive buffer of the socket to the server, if it is bounded.
    private let serverWindow: Int?
    private let connectDelay: ConnectDelay?
    /// Finds the positions that faults ask for, where some do.
    private let reader: StreamReader?
    /// The fault that answers in the server's place, once it has struck and until the answer is on its way.
    private var answering: (request: Int64, fault: Int)?
    private var isAnswered = false
    private var up: LinkPump
    private var down: LinkPump
    private var state = State.closed
    private var timer: LoopTimer?
    private var isQueued = false
    /// The bytes that had passed, and when the last of them did, when this was last looked at.
    private var passed: (bytes: Int64, moment: Moment)

    /// A connection for an accepted socket that nobody watches yet.
    init(_ client: StreamSocket, plan: ConnectionPlan, shard: Shard) {
        self.client = client
        self.shard = shard
        ordinal = plan.ordinal
        interruptions = plan.interruptions
        passed = (0, plan.opened)
        serverWindow = plan.receiveWindow[.downstream].map { Int($0.bytes) }
        if let window = plan.receiveWindow[.upstream] { client.setReceiveBuffer(Int(window.bytes)) }
        connectDelay = plan.connectDelay
        reader = plan.reading.isNone ? nil : StreamReader(plan.reading)
        up = LinkPump(plan.upstream)
        down = LinkPump(plan.downstream)
    }

    /// The bytes that each direction has passed on so far.
    var passedBytes: (upstream: Int64, downstream: Int64) { (up.link.delivered, down.link.delivered) }

    private var loop: EventLoop { shard.loop }

    /// Begins: an outage may strike at once; otherwise connects to the upstream.
    func start() {
        client.watch(by: self, tag: Tag.client)
        let now = loop.now
        if isInterrupted(at: now) { return }
        if let connectDelay {
            record(connectDelay.strike, nil, now)
            state = .delayed(until: now + connectDelay.duration, connectDelay)
            setTimer(
                to: min(now + connectDelay.duration, interruptions.nextChange(after: now, lastPassed: passed.moment))
            )
        } else {
            beginConnecting(at: now)
        }
    }

    override func socketIsReady(_ tag: Int) {
        switch state {
        case .connecting(let server, let address):
            if tag == Tag.server { finishConnecting(server, address) }
        case .flowing(let server):
            if tag == Tag.turn { isQueued = false }
            run(server)
        case .parting(let parting):
            part(parting)
        case .delayed, .closed:
            break
        }
    }

    override func timerFired(_ tag: Int) {
        switch state {
        case .delayed(let end, let delay):
            let now = loop.now
            if isInterrupted(at: now) { return }
            if now < end {
                setTimer(to: min(end, interruptions.nextChange(after: now, lastPassed: passed.moment)))
            } else if delay.isFailure {
                giveUp(SystemError(call: "connect", code: SystemError.timedOut))
            } else {
                beginConnecting(at: now)
            }
        case .connecting(let server, let address):
            let now = loop.now
            if isInterrupted(at: now) { return }
            if now >= attemptDeadline {
                failToConnect(server, address, SystemError(call: "connect", code: SystemError.timedOut))
            } else {
                setTimer(to: min(attemptDeadline, interruptions.nextChange(after: now, lastPassed: passed.moment)))
            }
        case .flowing(let server):
            run(server)
        case .parting(let parting):
            part(parting)
        case .closed:
            break
        }
    }

    /// Ends the connection at once, both ways: `reset` tells the peers by RST, otherwise by FIN.
    func abandon(reset: Bool) {
        switch state {
        case .connecting(let server, _), .flowing(let server):
            if reset { server.reset() } else { server.close() }
        case .parting(let parting):
            parting.receiver.close()
        case .delayed:
            break
        case .closed:
            return
        }
        if reset { client.reset() } else { client.close() }
        finish()
    }

    // MARK: Connecting

    /// When the client is told that nobody could be reached, and when the next address is tried.
    private var connectDeadline = Moment.zero
    private var attemptDeadline = Moment.zero

    private func beginConnecting(at now: Moment) {
        connectDeadline = now + shard.context.configuration.connectTimeout
        connect(to: 0)
    }

    private func connect(to address: Int) {
        let addresses = shard.context.upstreamAddresses
        let now = loop.now
        let share = (connectDeadline - now).nanoseconds / Int64(addresses.count - address)
        attemptDeadline = now.advanced(byNanoseconds: share)
        do {
            let server = try StreamSocket(connectingTo: addresses[address], receiveBuffer: serverWindow, on: loop)
            server.watch(by: self, tag: Tag.server)
            state = .connecting(server: server, address: address)
            setTimer(to: min(attemptDeadline, interruptions.nextChange(after: now, lastPassed: passed.moment)))
        } catch {
            failToConnect(nil, address, error)
        }
    }

    private func finishConnecting(_ server: StreamSocket, _ address: Int) {
        if let error = server.connectionError() {
            failToConnect(server, address, error)
            return
        }
        timer?.cancel()
        state = .flowing(server: server)
        run(server)
    }

    private func failToConnect(_ server: StreamSocket?, _ address: Int, _ error: SystemError) {
        server?.close()
        if let server { loop.bury(server) }
        if address + 1 < shard.context.upstreamAddresses.count {
            connect(to: address + 1)
            return
        }
        giveUp(error)
    }

    private func giveUp(_ error: SystemError) {
        shard.context.tell(.upstreamUnreachable(shard.context.configuration.upstream, error))
        client.reset()
        finish()
    }

    // MARK: Flowing

    private func run(_ server: StreamSocket) {
        let now = loop.now
        if isInterrupted(at: now) { return }
        let upstream = up.run(from: client, to: server, reader: reader, now: now)
        if settle(upstream, of: .upstream, source: client, sink: server, now: now) { return }
        if isAnswerDue { answer(instead: server, now) }
        let downstream = down.run(from: server, to: client, reader: reader, now: now)
        if settle(downstream, of: .downstream, source: server, sink: client, now: now) { return }
        if let reader, isAnswerDue || reader.mustRelease(.upstream) { queueTurn() }
        switch (up.link.isFinished, down.link.isFinished) {
        case (true, true):
            abandon(reset: false)
            return
        case (true, false) where client.isBroken():
            // A reset behind an end of stream; the other side is told as of any reset.
            client.reset()
            part(from: client, to: server, .reset)
            return
        case (false, true) where server.isBroken():
            server.reset()
            part(from: server, to: client, .reset)
            return
        case (true, false), (false, true), (false, false):
            break
        }
        let wake = min(up.wake, down.wake)
        if interruptions.arePossible { notePassed(at: now) }
        setTimer(
            to: interruptions.arePossible
                ? min(wake, interruptions.nextChange(after: now, lastPassed: passed.moment)) : wake
        )
    }

    /// Carries out what a link has come to; `true` when the connection doesn't flow any more.
    private func settle(
        _ outcome: LinkPump.Outcome,
        of direction: Direction,
        source: StreamSocket,
        sink: StreamSocket,
        now: Moment
    ) -> Bool {
        recordStrikes(of: direction, at: now)
        switch outcome {
        case .waiting:
            return false
        case .again:
            queueTurn()
            return false
        case .sinkBroken:
            // The sink's own direction tells the source of the reset, in its turn.
            return false
        case .ended(.answer(let request, let fault)):
            answering = (request, fault)
            return false
        case .ended(.finish) where isAnswered && direction == .downstream:
            // The client may still be sending what nobody takes.
            client.shutdownWrite()
            part(from: source, to: sink, .close)
            return true
        case .ended(.finish):
            sink.shutdownWrite()
            return false
        case .ended(.reset), .ended(.cut(.reset)):
            source.reset()
            part(from: source, to: sink, .reset)
            return true
        case .ended(.cut(.close)):
            sink.shutdownWrite()
            source.close()
            part(from: source, to: sink, .close)
            return true
        }
    }

    private func queueTurn() {
        if isQueued { return }
        isQueued = true
        loop.callSoon(self, tag: Tag.turn)
    }

    /// Whether a request is to be answered in the server's place, and the responses to those before it have come.
    private var isAnswerDue: Bool {
        guard let answering, let reader else { return false }
        return reader.hasAnswered(requestsBefore: answering.request)
    }

    /// Answers a request in the server's place.
    private func answer(instead server: StreamSocket, _ now: Moment) {
        guard let (request, fault) = answering, let reader else { return }
        answering = nil
        isAnswered = true
        server.close()
        guard case .http(.answer(let answer)) = shard.context.plan.faults[fault].kind else {
            preconditionFailure("only an http fault with an answer ends a stream in front of a request")
        }
        down.inject(reader.text(of: answer, to: request), in: loop, now: now)
    }

    private func recordStrikes(of direction: Direction, at now: Moment) {
        switch direction {
        case .upstream where !up.link.strikes.isEmpty:
            for strike in up.link.takeStrikes() { record(strike, direction, now) }
        case .downstream where !down.link.strikes.isEmpty:
            for strike in down.link.takeStrikes() { record(strike, direction, now) }
        case .upstream, .downstream:
            break
        }
    }

    private func record(_ strike: Strike, _ direction: Direction?, _ now: Moment) {
        shard.context.record(strike, connection: ordinal, direction: direction, at: now)
    }

    /// Ends the connection if an outage, its age or idleness has it so now; `true` when it is over.
    private func isInterrupted(at now: Moment) -> Bool {
        guard interruptions.arePossible,
            let (strike, how) = interruptions.strike(at: now, lastPassed: passed.moment)
        else { return false }
        record(strike, nil, now)
        switch (state, how) {
        case (.connecting(let server, _), .close), (.flowing(let server), .close):
            server.close()
            client.shutdownWrite()
            part(from: server, to: client, .close)
        case (.delayed, .close), (.closed, .close):
            // Nobody has been connected to.
            client.shutdownWrite()
            part(from: nil, to: client, .close)
        case (.delayed, .reset), (.connecting, .reset), (.flowing, .reset):
            abandon(reset: true)
        case (.parting, _), (.closed, .reset):
            client.reset()
            finish()
        }
        return true
    }

    private func notePassed(at now: Moment) {
        let bytes = up.link.delivered + down.link.delivered
        if bytes != passed.bytes { passed = (bytes, now) }
    }

    // MARK: Parting

    private func part(from source: StreamSocket?, to sink: StreamSocket, _ manner: Cut.Ending) {
        if let source { loop.bury(source) }
        up.close(loop)
        down.close(loop)
        let parting = Parting(receiver: sink, manner: manner, now: loop.now)
        state = .parting(parting)
        part(parting)
    }

    private func part(_ parting: Parting) {
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

    private func setTimer(to moment: Moment) {
        guard moment < .distantFuture else {
            timer?.cancel()
            return
        }
        let timer = self.timer ?? LoopTimer(loop: loop, handler: self, tag: Tag.timer)
        self.timer = timer
        timer.set(to: moment)
    }

    /// The last thing that happens to a connection: both sockets are closed already.
    private func finish() {
        if case .parting = state {
        } else {
            up.close(loop)
            down.close(loop)
        }
        timer?.cancel()
        loop.bury(client)
        switch state {
        case .connecting(let server, _), .flowing(let server): loop.bury(server)
        case .parting(let parting): loop.bury(parting.receiver)
        case .delayed, .closed: break
        }
        state = .closed
        shard.remove(self)
    }
}
