import EventLoop
import FaultPlan
import StreamReading
import Synchronization
import Units

/// The part of a proxy that lives on one loop: its connections there.
final class Shard: LoopShutdownHandler {
    let loop: EventLoop
    let context: ProxyContext
    /// The plan that the connections here follow; it names the faults of their acts.
    private(set) var plan: Plan

    private var connections: [Connection] = []
    /// The connections that an outage ends as soon as the listener refuses everybody; some may have ended since.
    private var awaitsRefusal: [Connection] = []
    private var past = Statistics()
    /// When something was late last: what had been due before then was late for the same reason.
    private var lastLate = Moment(nanoseconds: .min)
    private var isTenant = false
    private var isClosed = false
    /// The reader of the connections whose bytes no fault asks for.
    let idleReader = StreamReader(StreamInterest())
    /// Gives up the connections that the upstream doesn't answer.
    let connectWatch: ConnectWatch
    private lazy var drainWatch = DrainWatch(self)

    /// The limits of connections whose ends are gone.
    var limits: DrainLimits { context.configuration.drainLimits }

    init(loop: EventLoop, context: ProxyContext, plan: Plan) {
        self.loop = loop
        self.context = context
        self.plan = plan
        connectWatch = ConnectWatch(loop: loop)
    }

    /// Takes over an accepted connection, which has come through the proxies of `path` before.
    func adopt(_ detached: DetachedSocket, plan: ConnectionPlan, path: [Int]) {
        guard !isClosed, let client = StreamSocket(detached, on: loop) else {
            context.connectionEnded()
            return
        }
        past.accepted += 1
        if !isTenant {
            isTenant = true
            loop.add(self)
        }
        let connection = Connection(client, plan: plan, shard: self)
        connection.position = connections.count
        if !path.isEmpty || context.duties.keepsFlows.load(ordering: .relaxed) {
            connection.trail = Trail(path, to: context.route.id, in: context.registry)
        }
        connections.append(connection)
        drainWatch.start()
        connection.start()
    }

    /// Has every connection go on with another generation of the plan, each from where it is.
    func apply(_ change: PlanChange) {
        plan = change.plan
        let now = loop.now
        // From the last, whose place is the only one that another connection takes when one ends.
        for place in connections.indices.reversed() { connections[place].apply(change, at: now) }
    }

    /// Whether a client that is reset at `now`, and reconnects at once, might find the listener open although an outage
    /// refuses connections. The listener has a loop of its own.
    func clientsMayReconnect(at now: Moment) -> Bool {
        guard case .refused = plan.admission(at: now).admission else { return false }
        return !context.isRefusing.load(ordering: .acquiring)
    }

    /// Lets go of a connection whose sockets are closed; it lives until the end of the loop's turn.
    func remove(_ connection: Connection) {
        // First of all, because whoever calls holds no reference of its own, see `LoopHandler`.
        loop.deferRelease(connection)
        let (upstream, downstream) = connection.passedBytes
        past.upstreamBytes += upstream
        past.downstreamBytes += downstream
        past.lostBytes += connection.lostBytes
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.position] = last
            last.position = connection.position
        }
        if connections.isEmpty { loop.giveBackPipes() }
        context.connectionEnded()
    }

    /// Releases the connections that the drain policy has had enough of; returns whether there are others.
    func lookAtConnections() -> Bool {
        let now = loop.now
        // From the last, whose place is the only one that another connection takes when one ends.
        for place in connections.indices.reversed() { _ = connections[place].isDrained(at: now) }
        return !connections.isEmpty
    }

    /// Releases some of the connections whose ends are gone, or most likely are, the oldest first; returns how many.
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

    /// What a connection had due at `due` is done only now: counts it, and tells of it, if that is late enough. What was
    /// held up together counts once.
    func note(due: Moment, now: Moment) {
        let lateness = now - due
        guard lateness >= Statistics.noticedLateness else { return }
        past.longestLateness = max(past.longestLateness, lateness)
        guard due > lastLate else { return }
        lastLate = now
        past.lateTimes += 1
        context.tell(.late(lateness))
    }

    /// Calls the connection back once the listener refuses everybody.
    func awaitRefusal(_ connection: Connection) {
        awaitsRefusal.append(connection)
    }

    /// The listener refuses everybody now.
    func refusalHasBegun() {
        let waiting = awaitsRefusal
        awaitsRefusal = []
        for connection in waiting { connection.timerFired(Connection.Tag.timer) }
    }

    /// Ends every connection and takes no more.
    func close() {
        isClosed = true
        awaitsRefusal = []
        while let connection = connections.last { connection.abandon(reset: false) }
        connectWatch.close()
        drainWatch.close()
        loop.remove(self)
    }

    func loopWillEnd() { close() }

    /// What happened on this loop so far.
    var statistics: Statistics {
        var total = past
        total.open = connections.count
        for connection in connections {
            let (upstream, downstream) = connection.passedBytes
            total.upstreamBytes += upstream
            total.downstreamBytes += downstream
            total.lostBytes += connection.lostBytes
        }
        return total
    }
}
