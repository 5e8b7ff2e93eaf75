import EventLoop
import FaultPlan
import StreamReading
import Synchronization
import Units

/// The connections of one proxy on one loop.
final class Shard: LoopShutdownHandler {
    let loop: EventLoop
    let context: ProxyContext
    /// The current plan; it names the faults of events.
    private(set) var plan: Plan

    private(set) var connections: [Connection] = []
    /// The connections that a fault ends once the listener refuses clients; some may have ended since.
    private var awaitsRefusal: [Connection] = []
    /// How many of the connections are those of the content of others.
    private var contents = 0
    private var past = Statistics()
    /// The time of the last late run: whatever was due before it was late for the same reason.
    private var lastLate = Moment(nanoseconds: .min)
    private var isRegistered = false
    private var isClosed = false
    /// The reader of the connections whose bytes no fault asks for.
    let idleReader = StreamReader(StreamInterest())
    /// Whether HTTP is read for the resumptions of transfers, even without a fault that asks for it.
    let watchesTransfers: Bool
    /// Enforces the time limit of dialing.
    let connectWatch: ConnectWatch
    private lazy var drainWatch = DrainWatch(self)

    /// The limits of connections whose peers are gone.
    var limits: DrainLimits { context.configuration.drainLimits }

    init(loop: EventLoop, context: ProxyContext, plan: Plan) {
        self.loop = loop
        self.context = context
        self.plan = plan
        watchesTransfers = context.configuration.resumed != nil
        connectWatch = ConnectWatch(loop: loop)
    }

    /// What has to be read of a connection whose faults ask for `interest`.
    func interest(_ interest: StreamInterest) -> StreamInterest {
        watchesTransfers ? interest.withResumptions : interest
    }

    /// Starts a connection for an accepted socket, of another process or of a `local` client. `path` lists the proxies of this
    /// process that it has come through.
    func adopt(_ detached: DetachedSocket, of local: LocalClient? = nil, plan: ConnectionPlan, path: [Int]) {
        let client = local == nil ? StreamSocket(detached, on: loop) : StreamSocket(closedOn: loop)
        guard !isClosed, let client else {
            context.connectionEnded()
            local?.end(.ended(reset: true))
            return
        }
        past.accepted += 1
        if !isRegistered {
            isRegistered = true
            loop.add(self)
        }
        let layer: FaultLayer? = context.configuration.listen.usesTLS ? .wire : nil
        let connection = Connection(client, of: local, plan: plan, shard: self, layer: layer)
        if !path.isEmpty || context.loopDetection.keepsFlows.load(ordering: .relaxed) {
            connection.forwardingPath = ForwardingPath(path, to: context.route.id, in: context.registry)
        }
        if let capture = context.configuration.capture ?? context.configuration.captureSwitch?.capture,
            capture.has(plan.ordinal, of: context.configuration.name)
        {
            let own = ConnectionCapture(capture, self)
            connection.capture = own
            // That of a local client comes later.
            if local == nil { own.accepted(client) }
        }
        add(connection)
        context.counters.noteChange()
        drainWatch.start()
        connection.start()
    }

    /// Adds a connection to the list.
    func add(_ connection: Connection) {
        connection.shardIndex = Int32(connections.count)
        connections.append(connection)
        if connection.layer == .content { contents += 1 }
    }

    /// Moves every connection to another generation of the plan, at its current position.
    func apply(_ change: PlanChange) {
        let last = plan
        plan = change.plan
        let now = loop.now
        // Backwards: a connection that ends is replaced by the last of the list.
        for place in connections.indices.reversed() { connections[place].apply(change, after: last, at: now) }
    }

    /// Journals and counts an event of a connection; returns the name of the fault that acted, `nil` if none could.
    func record(
        _ event: FaultEvent,
        of other: Plan? = nil,
        connection: UInt64,
        direction: Direction?,
        at now: Moment
    ) -> String? {
        let plan = other ?? plan
        context.record(event, of: plan, connection: connection, direction: direction, at: now)
        if let reason = event.effect.reason {
            context.tellUnread(reason)
            return nil
        }
        let name = plan.name(event.fault)
        past.faultEvents[name.kind, default: 0] += 1
        context.counters.noteChange()
        return name.fault
    }

    /// Counts a connection that could not reach the upstream.
    func noteFailure() {
        past.failed += 1
        context.counters.noteChange()
    }

    /// Whether a client whose connection ends at `now`, and that reconnects at once, might find the listener open
    /// although an outage refuses connections. The listener has a loop of its own.
    func clientsMayReconnect(at now: Moment) -> Bool {
        guard case .refused = plan.admission(at: now).admission else { return false }
        return !context.isRefusing.load(ordering: .acquiring)
    }

    /// Removes a connection whose sockets are closed. The object lives until the end of the loop's turn.
    func remove(_ connection: Connection) {
        // First, because the caller may hold no reference, see `LoopHandler`.
        loop.deferRelease(connection)
        if connection.layer != .wire { connection.addBytes(to: &past) }
        let last = connections.removeLast()
        if last !== connection {
            connections[Int(connection.shardIndex)] = last
            last.shardIndex = connection.shardIndex
        }
        if connections.isEmpty { loop.giveBackPipes() }
        if connection.layer == .content { contents -= 1 } else { context.connectionEnded() }
        context.counters.noteChange()
    }

    /// Releases connections whose time by the drain policy is over; returns whether any is left.
    func lookAtConnections() -> Bool {
        let now = loop.now
        // Backwards: a connection that ends is replaced by the last of the list.
        for place in connections.indices.reversed() { _ = connections[place].isDrained(at: now) }
        return !connections.isEmpty
    }

    /// Releases a batch of connections whose peers are gone, or most likely are, oldest first; returns their number.
    func releaseDescriptors() -> Int {
        let now = loop.now
        var candidates: [(rank: Int, connection: Connection)] = []
        for connection in connections {
            if let rank = connection.shortageRank(at: now) { candidates.append((rank, connection)) }
        }
        candidates.sort { ($0.rank, $0.connection.ordinal) < ($1.rank, $1.connection.ordinal) }
        let released = candidates.prefix(limits.shortageBatch)
        for (_, connection) in released { connection.abandon(reset: true) }
        return released.count
    }

    /// Counts and reports a run that was due at `due`, if it is late by `Statistics.noticedLateness` or more. Runs that were
    /// held up together count once.
    func note(due: Moment, now: Moment) {
        let lateness = now - due
        guard lateness >= Statistics.noticedLateness else { return }
        past.longestLateness = max(past.longestLateness, lateness)
        guard due > lastLate else { return }
        lastLate = now
        past.lateTimes += 1
        context.tell(.late(lateness))
    }

    /// Fires the connection's timer once the listener refuses clients.
    func awaitRefusal(_ connection: Connection) {
        awaitsRefusal.append(connection)
    }

    /// The listener refuses clients from now on.
    func refusalHasBegun() {
        let waiting = awaitsRefusal
        awaitsRefusal = []
        for connection in waiting { connection.timerFired(Connection.Tag.timer) }
    }

    /// Ends every connection and accepts no more.
    func close() {
        isClosed = true
        awaitsRefusal = []
        while let connection = connections.last { connection.stop() }
        connectWatch.close()
        drainWatch.close()
        loop.remove(self)
    }

    func loopWillEnd() { close() }

    /// The number of open connections.
    var open: Int { connections.count - contents }

    var statistics: Statistics {
        var total = past
        total.open = open
        for connection in connections {
            if connection.layer != .wire { connection.addBytes(to: &total) }
            total.heldBytes += connection.heldBytes
            switch connection.reader.messages {
            case .awaited: total.joining += 1
            case .unreadable: total.unread += 1
            case .read, .unneeded: break
            }
        }
        return total
    }
}
