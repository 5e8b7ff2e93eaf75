import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import Synchronization
import Units

/// Accepts the connections of a proxy, numbers and plans them, and hands them to the loops in turn.
final class Listener: LoopHandler, LoopShutdownHandler {
    private enum Tag {
        static let outage = 1
        static let retry = 2
    }

    /// The connections accepted in one turn of the loop, at most.
    private static let batch = 64
    /// The pause after a persistent failure, and between two searches for connections to release: 100 ms.
    static let retryPause: Int64 = 100_000_000

    let loop: EventLoop
    let context: ProxyContext
    let shards: [LoopBound<Shard>]
    var admitter: Admitter
    var plan: Plan { admitter.plan }
    /// The sockets; `nil` before `open`, after `close`, and while the port is left.
    private(set) var sockets: ListeningSockets?
    private var isOpen = false
    private var outageTimer: LoopTimer?
    private var spacing = WakeSpacing()
    private var retryTimer: LoopTimer?
    /// The treatment of new connections.
    private(set) var admission = Admission.open
    /// Whether clients wait in the kernel's queue for room.
    private(set) var isFull = false
    /// Whether listening again has failed. A socket that doesn't listen isn't watched then: it would always be ready.
    private(set) var mustListen = false
    /// The search for connections to release, while it runs.
    var shortage: Shortage?
    /// The clients of this process that wait as others do in the kernel's queue.
    private var waiting: [LocalClient] = []
    /// The time until which connections beyond the limit are reset without a search, because the last one found none.
    var exhaustedUntil = Moment.zero
    private var turns: LoopTurns
    /// The counters of clients and events that no connection has.
    private(set) var statistics = Statistics()
    /// The calls to accept in the next turn.
    private var acceptTurns = 1

    init(loop: EventLoop, context: ProxyContext, plan: Plan, shards: [LoopBound<Shard>]) {
        self.loop = loop
        self.context = context
        self.shards = shards
        turns = LoopTurns(shards.count, own: shards.firstIndex { $0.loop === loop } ?? 0)
        admitter = Admitter(plan)
    }

    /// Binds and listens on every address, unless an outage refuses connections from the start. Returns the addresses with
    /// the port that was chosen for port 0.
    func open(_ addresses: [SocketAddress]) throws(ListeningSockets.Failure) -> [SocketAddress] {
        let sockets = try bind(addresses)
        isOpen = true
        loop.add(self)
        context.listener.lead(to: LoopBound(self, on: loop))
        followOutages()
        return sockets.addresses
    }

    private func bind(_ addresses: [SocketAddress]) throws(ListeningSockets.Failure) -> ListeningSockets {
        let sockets = try ListeningSockets(
            addresses,
            permissions: context.configuration.listenPermissions,
            on: loop,
            handler: self
        )
        self.sockets = sockets
        context.registry.note(context.route.id, listensOn: sockets.addresses)
        return sockets
    }

    /// Closes the listening sockets and no connection, until `takePort` or `close`.
    func leavePort() {
        context.registry.note(context.route.id, listensOn: [])
        sockets?.close(on: loop)
        sockets = nil
        // Nobody can connect to it: ends that wait for that needn't.
        beginRefusal()
    }

    /// Listens again at `addresses`, those of `open`, after `leavePort`.
    func takePort(_ addresses: [SocketAddress]) throws(ListeningSockets.Failure) {
        guard isOpen, sockets == nil else { return }
        _ = try bind(addresses)
        // As new sockets do.
        (admission, isFull, mustListen, shortage) = (.open, false, false, nil)
        context.isRefusing.store(false, ordering: .releasing)
        context.isRoomAwaited.store(false, ordering: .sequentiallyConsistent)
        followOutages()
    }

    /// Stops listening for good.
    func close() {
        outageTimer?.cancel()
        retryTimer?.cancel()
        context.listener.lead(to: nil)
        guard isOpen else { return }
        isOpen = false
        resetWaiting()
        context.registry.remove(context.route.id)
        sockets?.close(on: loop)
        sockets = nil
        loop.remove(self)
    }

    func loopWillEnd() { close() }

    override func socketIsReady(_ tag: Int) {
        guard let sockets, admission == .open, !isFull, shortage == nil else { return }
        // The call that finds an empty queue is skipped unless the last turn found more than expected.
        for round in 0..<acceptTurns {
            let room = plan.room(for: context.openConnections.load(ordering: .relaxed), at: loop.now)
            if case .waiting(let fault) = room {
                // In later rounds the queue may be empty.
                if round == 0 { awaitRoom(fault, sockets) }
                return
            }
            if isAtLimit, loop.now >= exhaustedUntil { return relieve(.connections, sockets) }
            switch sockets.accept(tag) {
            case .accepted(let detached): hand(detached, room)
            case .gone: continue
            case .none:
                acceptTurns = max(1, round)
                return
            case .failed(let error):
                return relieve(.descriptors(error), sockets)
            }
        }
        acceptTurns = min(2 * acceptTurns, Listener.batch)
    }

    override func timerFired(_ tag: Int) {
        guard let sockets else { return }
        switch tag {
        case Tag.outage:
            followOutages()
        case Tag.retry:
            shortage = nil
            if !isRefusing { listenAgain(sockets) }
            admitWaiting()
        default:
            break
        }
    }

    /// Accepts a client of this process, at once or when others are accepted.
    func admit(_ client: LocalClient) {
        guard isOpen, !isRefusing else {
            statistics.refused += 1
            return client.end(.ended(reset: true))
        }
        waiting.append(client)
        admitWaiting()
    }

    /// Accepts the clients of this process that wait, as many as there is room for.
    func admitWaiting() {
        while let sockets, let client = waiting.first, admission == .open, !isFull, shortage == nil {
            let room = plan.room(for: context.openConnections.load(ordering: .relaxed), at: loop.now)
            if case .waiting(let fault) = room { return awaitRoom(fault, sockets) }
            if isAtLimit, loop.now >= exhaustedUntil { return relieve(.connections, sockets) }
            waiting.removeFirst()
            if !client.hasEnded { hand(.none, room, of: client) }
        }
    }

    private func resetWaiting() {
        let clients = waiting
        waiting = []
        for client in clients { client.end(.ended(reset: true)) }
    }

    private func hand(_ detached: DetachedSocket, _ room: Room, of client: LocalClient? = nil) {
        if case .refused(let fault) = room {
            // First, so that the journal has the line when the client is refused.
            record(.refuses, fault)
            refuse(detached, client)
            return
        }
        let destination = context.configuration.destination
        // The permissions of a Unix-domain socket decide, which has no addresses.
        if let policy = destination.policy, !policy.clients.isEmpty, !detached.isUnix {
            let peer = detached.peer
            guard policy.admits(peer) else {
                context.tell(.clientNotAllowed(peer?.canonical.host ?? ""))
                refuse(detached)
                return
            }
        }
        guard let path = path(of: detached) else {
            refuse(detached)
            if let upstream = destination.upstream { context.tell(.connectionFromItself(upstream)) }
            return
        }
        guard !isAtLimit else {
            refuse(detached, client)
            context.tell(.connectionLimitReached(context.configuration.connectionLimit))
            return
        }
        context.openConnections.add(1, ordering: .relaxed)
        context.renewUpstream(because: .connection, at: loop.now)
        let peer = plan.asksForClient ? client?.address ?? detached.peer : nil
        var facts = destination.facts(
            client: peer?.host,
            target: client.map { HostName($0.target.host, port: $0.target.port) }
        )
        facts.program = client?.program
        let isKnown = destination.policy == nil || client != nil
        let connectionPlan =
            isKnown
            ? admitter.accept(at: loop.now, facts, context.configuration.termination(for: facts.target))
            : plan.unnumbered(at: loop.now)
        client?.noteNumbers(of: connectionPlan)
        let shard = nextShard(for: client)
        if shard.loop === loop {
            shard.value.adopt(detached, of: client, plan: connectionPlan, path: path)
        } else if !shard.loop.post({ shard.value.adopt(detached, of: client, plan: connectionPlan, path: path) }) {
            context.openConnections.subtract(1, ordering: .relaxed)
            detached.reset()
            client?.end(.ended(reset: true))
        }
    }

    private func nextShard(for client: LocalClient?) -> LoopBound<Shard> {
        guard client != nil else { return shards[turns.next()] }
        let here = shards[turns.own].value.open
        // This one is counted.
        let elsewhere = context.openConnections.load(ordering: .relaxed) - 1 - here
        return shards[turns.next(here: here, elsewhere: elsewhere)]
    }

    private func refuse(_ detached: DetachedSocket, _ client: LocalClient? = nil) {
        detached.reset()
        client?.end(.ended(reset: true))
        statistics.refused += 1
    }

    /// The proxies of this process that a connection has come through; `nil` if this is one of them.
    private func path(of detached: DetachedSocket) -> [Int]? {
        guard context.loopDetection.asksForFlows.load(ordering: .relaxed), let peer = detached.peer,
            let local = detached.local
        else { return [] }
        let path = context.registry.path(of: Flow(from: peer, to: local))
        return path.contains(context.route.id) ? nil : path
    }

    /// Stops or resumes listening as the plan has it now.
    func followOutages() {
        guard let sockets else { return }
        let now = loop.now
        let (admission, until) = plan.admission(at: now)
        if admission != self.admission { change(to: admission, sockets) }
        if isFull { lookForRoom() }
        admitWaiting()
        guard until < .distantFuture else { return }
        // Coarse: 100 µs don't matter here, and an idle loop can sleep.
        let timer = outageTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.outage, isCoarse: true)
        outageTimer = timer
        timer.set(to: spacing.wake(for: until, now: now))
    }

    /// Applies another profile on every loop. Connections accepted from here on follow it.
    ///
    /// `done` is called with the change, on any loop, when all loops have applied it; at once with `nil` if the proxy has
    /// stopped. It never waits for a connection.
    func apply(_ profile: Profile, global: GlobalBuckets?, done: @escaping @Sendable (PlanChange?) -> Void) {
        guard isOpen else { return done(nil) }
        spread(admitter.apply(profile, global: global), done: done)
    }

    /// Sets the clock of the phases on every loop, as `apply` does with a profile.
    func setClock(_ action: ClockAction, done: @escaping @Sendable (Result<PlanChange, ProxyError>) -> Void) {
        guard isOpen else { return done(.failure(.stopped)) }
        let now = loop.now
        let clock = plan.schedule.clock
        let next: PhaseClock
        switch action {
        case .pause: next = clock.paused(at: now)
        case .resume: next = clock.resumed(at: now)
        case .restart: next = .restarted(at: now)
        case .step(let name):
            let index = plan.profile.phases.firstIndex { $0.name == name }
            guard let begin = index.flatMap(plan.schedule.begin(ofPhase:)) else {
                return done(.failure(.unknownPhase(name)))
            }
            next = clock.set(to: begin, at: now)
        }
        spread(admitter.setClock(next)) { done(.success($0)) }
    }

    /// Has all loops follow a change of the plan, then calls `done`.
    private func spread(_ change: PlanChange, done: @escaping @Sendable (PlanChange) -> Void) {
        // Before connections end, whose clients may reconnect at once.
        spacing.refresh()
        followOutages()
        let count = Countdown(shards.count) { done(change) }
        // After the connections that were planned before, and before those to come. The other loops first, so that all work
        // at the same time.
        for shard in shards where shard.loop !== loop {
            let isPosted = shard.loop.postBeyondLimit {
                shard.value.apply(change)
                count.signal()
            }
            // A loop that ends has no connections to change.
            if !isPosted { count.signal() }
        }
        for shard in shards where shard.loop === loop {
            shard.value.apply(change)
            count.signal()
        }
    }

    private var isRefusing: Bool {
        if case .refused = admission { true } else { false }
    }

    private func change(to next: Admission, _ sockets: ListeningSockets) {
        let last = admission
        admission = next
        // First, so that the journal has the line when a client is refused.
        switch next {
        case .open: break
        case .refused(let fault): record(.refuses, fault)
        case .unanswered(let fault): record(.hangs, fault)
        }
        switch (last, next) {
        case (.refused, .refused), (.unanswered, .unanswered), (.open, .open):
            // One outage may follow another.
            break
        case (.open, .refused), (.unanswered, .refused):
            mustListen = false
            sockets.suspend()
            resetWaiting()
            // Connections wait for it whose clients might reconnect.
            beginRefusal()
        case (.open, .unanswered), (.refused, .unanswered):
            // Before it listens again, so that no client connects in between.
            if !sockets.stopAnswering() { context.tell(.answersByItself) }
            if case .refused = last { listenAgain(sockets) }
        case (.refused, .open), (.unanswered, .open):
            listenAgain(sockets)
        }
    }

    /// Nobody listens any more.
    private func beginRefusal() {
        context.isRefusing.store(true, ordering: .releasing)
        for shard in shards { shard.loop.post { shard.value.refusalHasBegun() } }
    }

    private func record(_ effect: FaultEvent.Effect, _ fault: Int) {
        let event = FaultEvent(fault: fault, offset: nil, effect: effect)
        context.record(event, of: plan, connection: nil, direction: nil, at: loop.now)
        statistics.faultEvents[plan.name(fault).kind, default: 0] += 1
        context.counters.noteChange()
    }

    /// Leaves clients in the queue until a connection or the limit ends.
    private func awaitRoom(_ fault: Int, _ sockets: ListeningSockets) {
        record(.hangs, fault)
        isFull = true
        context.isRoomAwaited.store(true, ordering: .sequentiallyConsistent)
        sockets.unwatch()
        // The last connection may have ended before the flag was set.
        lookForRoom()
    }

    func lookForRoom() {
        guard let sockets, isFull else { return }
        let open = context.openConnections.load(ordering: .sequentiallyConsistent)
        if case .waiting = plan.room(for: open, at: loop.now) { return }
        isFull = false
        context.isRoomAwaited.store(false, ordering: .sequentiallyConsistent)
        if admission == .open, shortage == nil, !mustListen { sockets.watch() }
        admitWaiting()
    }

    func listenAgain(_ sockets: ListeningSockets) {
        context.isRefusing.store(false, ordering: .releasing)
        do throws(SystemError) {
            try sockets.resume(answering: admission == .open)
            mustListen = false
            if isFull || shortage != nil { sockets.unwatch() }
        } catch {
            mustListen = true
            context.tell(.cannotListenAgain(error))
            if error.isOutOfDescriptors, shortage == nil { relieve(.descriptors(error), sockets) } else { retry() }
        }
    }

    /// Accepts no more connections until the pause is over.
    func retry() {
        let timer = retryTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.retry)
        retryTimer = timer
        timer.set(to: loop.now.advanced(byNanoseconds: Listener.retryPause))
    }

    /// Ends the pause.
    func cancelRetry() { retryTimer?.cancel() }
}
