import EventLoop
import FaultPlan
import Synchronization
import Units

/// Accepts a proxy's connections, numbers them, plans them and hands them to the loops in turn.
final class Listener: LoopHandler, LoopTenant {
    private enum Tag {
        static let socket = 0
        static let outage = 1
        static let retry = 2
    }

    /// Connections accepted before other events of the loop have their turn.
    private static let batch = 64
    /// The pause after a failure that lasts, such as a want of descriptors: 100 ms.
    private static let retryPause: Int64 = 100_000_000

    private let loop: EventLoop
    private let context: ProxyContext
    private let shards: [Resident<Shard>]
    private var plan: Plan
    private var socket: ListeningSocket?
    private var outageTimer: LoopTimer?
    private var retryTimer: LoopTimer?
    /// The fault that has the port closed now.
    private var refusing: Int?
    private var nextShard = 0

    init(loop: EventLoop, context: ProxyContext, shards: [Resident<Shard>]) {
        self.loop = loop
        self.context = context
        self.shards = shards
        plan = context.plan
    }

    /// Binds and listens, unless an outage refuses connections from the start.
    func open(_ address: SocketAddress) throws(SystemError) -> SocketAddress {
        let socket = try ListeningSocket(address, on: loop, handler: self, tag: Tag.socket)
        self.socket = socket
        loop.add(self)
        let listener = Resident(self, on: loop)
        context.refusalMayBegin.withLock { call in
            call = { _ = listener.loop.post { listener.value.followOutages() } }
        }
        followOutages()
        return socket.address
    }

    /// Stops listening for good.
    func close() {
        outageTimer?.cancel()
        retryTimer?.cancel()
        context.refusalMayBegin.withLock { $0 = nil }
        guard let socket else { return }
        socket.close()
        loop.bury(socket)
        self.socket = nil
        loop.remove(self)
    }

    func loopWillEnd() { close() }

    override func socketIsReady(_ tag: Int) {
        guard let socket else { return }
        for _ in 0..<Listener.batch {
            switch socket.accept() {
            case .accepted(let detached): hand(detached)
            case .gone: continue
            case .none: return
            case .failed(let error):
                // The socket would call again at once; the connections can wait in its queue instead.
                context.tell(.cannotAccept(error))
                socket.unwatch()
                retry()
                return
            }
        }
    }

    override func timerFired(_ tag: Int) {
        guard let socket else { return }
        switch tag {
        case Tag.outage:
            followOutages()
        case Tag.retry where refusing != nil:
            break
        default:
            listenAgain(socket)
        }
    }

    private func hand(_ detached: DetachedSocket) {
        let limit = context.configuration.connectionLimit
        guard context.openConnections.load(ordering: .relaxed) < limit else {
            detached.reset()
            context.tell(.connectionLimitReached(limit))
            return
        }
        context.openConnections.add(1, ordering: .relaxed)
        let client = plan.asksForClient ? detached.peer?.host : nil
        let connectionPlan = plan.accept(at: loop.now, client: client)
        let shard = shards[nextShard]
        nextShard = (nextShard + 1) % shards.count
        if shard.loop === loop {
            shard.value.adopt(detached, plan: connectionPlan)
        } else if !shard.loop.post({ shard.value.adopt(detached, plan: connectionPlan) }) {
            context.openConnections.subtract(1, ordering: .relaxed)
            detached.reset()
        }
    }

    /// Stops or starts listening as the outages of the profile have it now.
    private func followOutages() {
        guard let socket else { return }
        let now = loop.now
        let (fault, until) = plan.refusal(at: now)
        if let fault, fault != refusing {
            // Told first, so that who is refused finds it in the journal.
            context.record(
                Strike(fault: fault, offset: nil, effect: .refuses),
                connection: nil,
                direction: nil,
                at: now
            )
            // One outage may follow upon another.
            if refusing == nil { socket.suspend() }
            refusing = fault
        } else if fault == nil, refusing != nil {
            refusing = nil
            listenAgain(socket)
        }
        guard until < .distantFuture else { return }
        let timer = outageTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.outage)
        outageTimer = timer
        timer.set(to: until)
    }

    private func listenAgain(_ socket: ListeningSocket) {
        do throws(SystemError) {
            try socket.resume()
        } catch {
            context.tell(.cannotListenAgain(error))
            retry()
        }
    }

    private func retry() {
        let timer = retryTimer ?? LoopTimer(loop: loop, handler: self, tag: Tag.retry)
        retryTimer = timer
        timer.set(to: loop.now.advanced(byNanoseconds: Listener.retryPause))
    }
}
