import EventLoop
import FaultPlan
import FaultProfile
import StreamReading
import Units

/// One client's connection and the one to the server behind it, on one loop from accept to close.
final class Connection: LoopHandler {
    enum Tag {
        static let client = 0
        static let server = 1
        static let timer = 2
        static let turn = 3
    }

    enum State {
        /// Accepted by the system alone: not read, and no server connected to.
        case hanging
        /// Waiting to connect until the moment: the first packets were lost, or a delay has it so.
        case delayed(until: Moment)
        /// Connecting to the upstream's address of this index.
        case connecting(address: Int)
        /// Bytes flow.
        case flowing
        /// The receiver of a cut, or of the other side's end, is being let go.
        case parting(Parting)
        /// Nothing passes any more, and nobody is told; both sockets are kept until their peers give up.
        case silent
        case closed
    }

    /// How long the listener is waited for when an outage refuses everybody: 100 ms.
    private static let listenerPatience: Int64 = 100_000_000

    /// The place in the shard's list.
    var position = 0
    /// The place among those that wait for the upstream; −1 while it doesn't.
    var connectPlace = -1
    let shard: Shard
    let loop: EventLoop
    let client: StreamSocket
    /// Closed until the upstream is connected to.
    let server: StreamSocket
    let ordinal: UInt64
    /// When it was accepted.
    let opened: Moment
    /// These, the reader and the timer change with the plan alone, see `apply`.
    var circumstances: Circumstances
    /// That of the circumstances; a reference to it through them would be counted.
    var reader: StreamReader
    var up: LinkPump
    var down: LinkPump
    var state = State.closed
    /// A connection that faults concern has one from the start, others when they need it, and that of the shard until
    /// then: what is there from the start isn't counted for each use.
    var timer: LoopTimer
    var lateTimer: LoopTimer?
    private var isTimed = false
    private var isQueued = false
    /// When the client is told that nobody could be reached, and when the next address is tried.
    var connectDeadline = Moment.zero
    var attemptDeadline = Moment.zero
    /// What is done when one peer has gone and the other takes nothing.
    var untaken: Untaken?
    /// What says when a connection with an end that is gone is released; `nil` while both ends are there.
    var drain: DrainRecord?

    /// The proxies that it has come through, where one of them might accept its own connection; `nil` elsewhere.
    var trail: Trail?

    /// A connection for an accepted socket that nobody watches yet.
    init(_ client: StreamSocket, plan: ConnectionPlan, shard: Shard) {
        self.client = client
        self.shard = shard
        loop = shard.loop
        ordinal = plan.ordinal
        opened = plan.opened
        circumstances = shard.circumstances(of: plan)
        server = StreamSocket(closedOn: loop)
        reader = circumstances.reader
        if let window = plan.receiveWindow[.upstream] { client.setReceiveBuffer(Int(window.bytes)) }
        if plan.upstream.countsFromArrival { client.stampArrivals() }
        up = LinkPump(plan.upstream)
        down = LinkPump(plan.downstream)
        timer = circumstances.isPlain ? shard.noTimer : LoopTimer(loop: loop, tag: Tag.timer)
        super.init()
        if !circumstances.isPlain { timer.serve(self) }
    }

    /// The bytes that each direction has passed on so far.
    var passedBytes: (upstream: Int64, downstream: Int64) { (up.link.delivered, down.link.delivered) }

    /// The bytes that rates lost because the machine was busy.
    var lostBytes: Int64 { up.link.lostBytes + down.link.lostBytes }

    /// Begins: an outage may act at once; otherwise connects to the upstream.
    func start() {
        client.watch(by: self, tag: Tag.client)
        let now = loop.now
        if isTerminated(at: now) { return }
        if let event = circumstances.hang.event(at: now) {
            record(event, nil, now)
            state = .hanging
            keepHanging()
        } else {
            open(at: now)
        }
    }

    /// Connects to the upstream, late where that is due.
    func open(at now: Moment) {
        if let delay = circumstances.connectDelay {
            record(delay.event, nil, now)
            state = .delayed(until: now + delay.duration)
            setTimer(to: min(now + delay.duration, circumstances.nextTermination(after: now)))
        } else {
            beginConnecting(at: now)
        }
    }

    override func socketIsReady(_ tag: Int) {
        // Who has a turn to come waits for it, so that others come between.
        if tag == Tag.turn { isQueued = false } else if isQueued, case .flowing = state { return }
        switch state {
        case .connecting(let address):
            if tag == Tag.server { finishConnecting(address) } else { _ = isDrained(at: loop.now) }
        case .flowing:
            run()
        case .parting(let parting):
            step(parting)
        case .hanging:
            keepHanging()
        case .delayed, .silent:
            _ = isDrained(at: loop.now)
        case .closed:
            break
        }
    }

    override func timerFired(_ tag: Int) {
        switch state {
        case .delayed(let end):
            let now = loop.now
            if isTerminated(at: now) { return }
            if now < end {
                setTimer(to: min(end, nextTermination(after: now)))
            } else if circumstances.connectDelay?.isFailure == true {
                giveUp(SystemError(call: "connect", code: SystemError.timedOut))
            } else {
                beginConnecting(at: now)
            }
        case .connecting:
            let now = loop.now
            if isTerminated(at: now) { return }
            setTimer(to: nextTermination(after: now))
        case .flowing:
            run()
        case .parting(let parting):
            step(parting)
        case .hanging:
            keepHanging()
        case .silent:
            _ = isDrained(at: loop.now)
        case .closed:
            break
        }
    }

    /// Ends the connection at once, both ways: `reset` tells the peers by RST, otherwise by FIN.
    func abandon(reset: Bool) {
        switch state {
        case .connecting, .flowing, .silent:
            if reset { server.reset() } else { server.close() }
        case .parting(let parting):
            parting.receiver.close()
        case .delayed, .hanging:
            break
        case .closed:
            return
        }
        if reset { client.reset() } else { client.close() }
        finish()
    }

    // MARK: Flowing

    /// Both ends are there.
    func flow() {
        if down.link.countsFromArrival { server.stampArrivals() }
        let now = loop.now
        up.link.begin(at: now)
        down.link.begin(at: now)
        if isTerminated(at: now) { return }
        // A cut in front of the first byte acts before a byte goes the other way.
        let downstream = down.run(from: server, to: client, reader: reader, now: now)
        if settle(downstream, of: .downstream, source: server, sink: client, now: now) { return }
        run()
    }

    private func run() {
        if circumstances.isPlain, up.relay(from: client, to: server), down.relay(from: server, to: client) { return }
        // Without faults nobody asks for the time.
        let now = circumstances.isPlain ? .zero : loop.now
        shard.note(due: min(up.wake, down.wake), now: now)
        if isTerminated(at: now) { return }
        let upstream = up.run(from: client, to: server, reader: reader, now: now)
        if settle(upstream, of: .upstream, source: client, sink: server, now: now) { return }
        if circumstances.isAnswerDue { answer() }
        let downstream = down.run(from: server, to: client, reader: reader, now: now)
        if settle(downstream, of: .downstream, source: server, sink: client, now: now) { return }
        if circumstances.isAnswerDue || up.isAlive && !reader.isIdle && reader.mustRelease(.upstream) { queueTurn() }
        var wake = min(up.wake, down.wake)
        if up.isSinkBroken || down.isSinkBroken {
            guard let until = bringDown() else { return }
            wake = min(wake, until)
        }
        switch (up.link.isFinished, down.link.isFinished) {
        case (true, true):
            abandon(reset: false)
            return
        case (true, false) where client.isBroken():
            // A reset behind an end of stream; the other side is told as of any reset.
            client.reset()
            part(to: server, .reset)
            return
        case (false, true) where server.isBroken() && !server.isProbed:
            server.reset()
            part(to: client, .reset)
            return
        case (true, false), (false, true), (false, false):
            break
        }
        if up.link.isDeaf || down.link.isDeaf {
            if isDrained(at: now) { return }
        }
        circumstances.notePassed(up.link.delivered + down.link.delivered, at: now)
        wake = min(wake, circumstances.nextTermination(after: now))
        setTimer(to: wake)
    }

    /// Carries out what a link has come to; `true` when the connection doesn't flow any more.
    private func settle(
        _ outcome: LinkPump.Outcome,
        of direction: Direction,
        source: StreamSocket,
        sink: StreamSocket,
        now: Moment
    ) -> Bool {
        recordEvents(of: direction, at: now)
        switch outcome {
        case .waiting:
            return false
        case .again:
            queueTurn()
            return false
        case .sinkBroken:
            // The sink's own direction tells the source of the reset, in its turn, see `bringDown`.
            return false
        case .ended(.answer(let request, let fault)):
            guard case .http(.answer(let answer)) = shard.plan.fault(fault).kind else {
                preconditionFailure("only an http fault with an answer ends a stream in front of a request")
            }
            circumstances.answering = (request, answer)
            return false
        case .ended(.finish) where direction == .downstream && circumstances.isAnswered:
            // The client may still be sending what nobody takes.
            client.shutdownWrite()
            part(to: sink, .close)
            return true
        case .ended(.finish):
            // Closing both sockets says it as well, and follows if the other direction has ended.
            if !(up.link.isFinished && down.link.isFinished) { sink.shutdownWrite() }
            return false
        case .ended(.reset), .ended(.cut(.reset)):
            source.reset()
            part(to: sink, .reset)
            return true
        case .ended(.cut(.close)):
            sink.shutdownWrite()
            source.close()
            part(to: sink, .close)
            return true
        case .ended(.cut(.silence)):
            fallSilent(at: now)
            return true
        }
    }

    func queueTurn() {
        if isQueued { return }
        isQueued = true
        loop.callSoon(self, tag: Tag.turn)
    }

    /// Answers a request in the server's place.
    private func answer() {
        guard let (request, answer) = circumstances.answering else { return }
        circumstances.answering = nil
        circumstances.isAnswered = true
        server.close()
        down.inject(reader.text(of: answer, to: request), in: loop)
    }

    func recordEvents(of direction: Direction, at now: Moment) {
        switch direction {
        case .upstream where !up.link.events.isEmpty:
            for event in up.link.takeEvents() { record(event, direction, now) }
        case .downstream where !down.link.events.isEmpty:
            for event in down.link.takeEvents() { record(event, direction, now) }
        case .upstream, .downstream:
            break
        }
    }

    private func record(_ event: FaultEvent, _ direction: Direction?, _ now: Moment) {
        shard.context.record(event, of: shard.plan, connection: ordinal, direction: direction, at: now)
    }

    /// Ends the connection if an outage, its age or idleness has it so now; `true` when it is over.
    func isTerminated(at now: Moment) -> Bool {
        guard let (event, how) = circumstances.terminator(at: now) else { return false }
        if case .flowing = state, case .reset = how, mayFindListener(at: now) { return true }
        record(event, nil, now)
        switch (state, how) {
        case (.connecting, .close), (.flowing, .close):
            server.close()
            client.shutdownWrite()
            part(to: client, .close)
        case (.connecting, .silence), (.flowing, .silence), (.delayed, .silence), (.hanging, .silence),
            (.closed, .silence):
            fallSilent(at: now)
        case (.delayed, .close), (.hanging, .close), (.closed, .close):
            // Nobody has been connected to.
            client.shutdownWrite()
            part(to: client, .close)
        case (.delayed, .reset), (.hanging, .reset), (.connecting, .reset), (.flowing, .reset), (.silent, _):
            abandon(reset: true)
        case (.parting, _), (.closed, .reset):
            client.reset()
            finish()
        }
        return true
    }

    /// Whether a client that is reset now, and connects again at once, might still find the listener, although an outage
    /// refuses everybody: the two of them are on loops of their own, and the listener is waited for, for a while. Nothing
    /// passes meanwhile.
    private func mayFindListener(at now: Moment) -> Bool {
        guard case .refused = shard.plan.admission(at: now).admission,
            !shard.context.isRefusing.load(ordering: .acquiring)
        else { return false }
        let since = circumstances.isOverSince ?? now
        let deadline = since.advanced(byNanoseconds: Connection.listenerPatience)
        guard now < deadline else { return false }
        if circumstances.isOverSince == nil { shard.awaitRefusal(self) }
        circumstances.isOverSince = since
        setTimer(to: deadline)
        return true
    }

    private func nextTermination(after now: Moment) -> Moment {
        circumstances.nextTermination(after: now)
    }

    // MARK: The end

    func setTimer(to moment: Moment) {
        if !circumstances.isPlain {
            if moment < .distantFuture { timer.set(to: moment) } else { timer.cancel() }
        } else if isTimed || moment < .distantFuture {
            isTimed = true
            let timer = lateTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.timer)
            lateTimer = timer
            if moment < .distantFuture { timer.set(to: moment) } else { timer.cancel() }
        }
    }

    /// The last thing that happens to a connection: both sockets are closed already.
    func finish() {
        switch state {
        case .parting, .silent:
            // Both links have been closed before.
            break
        case .hanging, .delayed, .connecting, .flowing, .closed:
            up.close(loop)
            down.close(loop)
        }
        setTimer(to: .distantFuture)
        shard.connectWatch.remove(self)
        trail?.end()
        state = .closed
        shard.remove(self)
    }
}
