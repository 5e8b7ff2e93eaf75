import EventLoop
import FaultPlan
import FaultProfile
import Synchronization
import Units

/// A proxy that runs: it listens, and treats every connection as its profile says.
public final class Proxy: Sendable {
    /// What it was started with.
    public let configuration: ProxyConfiguration
    /// The addresses that it listens on, at least one, with the port that was chosen for port 0: every address of the name.
    public let addresses: [SocketAddress]
    /// The moment at which its clock, and with it the first phase, begins or began.
    public let started: Moment

    private let current: Mutex<Plan>
    let listener: LoopBound<Listener>
    let shards: [LoopBound<Shard>]

    init(
        context: ProxyContext,
        plan: Plan,
        addresses: [SocketAddress],
        listener: LoopBound<Listener>,
        shards: [LoopBound<Shard>]
    ) {
        configuration = context.configuration
        self.addresses = addresses
        current = Mutex(plan)
        started = plan.schedule.start
        self.listener = listener
        self.shards = shards
    }

    /// Starts a proxy on the loops of `group`, which keep it: it runs until `stop`, or until they end,
    /// whether or not anybody holds the value.
    ///
    /// - Parameters:
    ///   - journal: told of every fault that acts, on whatever loop it acted; it must not wait.
    ///   - report: told of what goes wrong otherwise, likewise.
    /// - Throws: `ProxyError` when a name has no address, the address can't be listened on, or connections would come
    ///   back to the proxy, through other proxies of the process or not. Nothing is left behind then.
    public static func start(
        _ configuration: ProxyConfiguration,
        on group: EventLoopGroup,
        journal: @escaping @Sendable (JournalEntry) -> Void = { _ in },
        report: @escaping @Sendable (ProxyEvent) -> Void = { _ in }
    ) async throws(ProxyError) -> Proxy {
        let listenAddresses = try await resolve(configuration.listen, for: configuration)
        let upstreamAddresses = try await resolve(configuration.upstream, for: configuration)
        let plan = Plan(configuration)
        let context = try ProxyContext(
            configuration,
            listen: listenAddresses,
            upstream: upstreamAddresses,
            journal: journal,
            report: report
        )
        let opened: Result<Proxy, ProxyError>
        do throws(SystemError) {
            var shards: [LoopBound<Shard>] = []
            for loop in group.loops {
                shards.append(
                    try await loop.run { LoopBound(Shard(loop: loop, context: context, plan: plan), on: loop) }
                )
            }
            opened = try await open(context, plan, on: group.next(), shards, listenAddresses)
        } catch {
            opened = .failure(error.isStopped ? .stopped : .cannotListen(configuration.listen, error))
        }
        if case .failure = opened { configuration.registry.remove(context.route.id) }
        return try opened.get()
    }

    /// Takes `profile` in place of the one before, on live connections as well, and returns when every loop has it. No
    /// connection is waited for, and none loses a byte: each goes on from where it is.
    ///
    /// A fault that hasn't changed keeps what it has come to. One that begins counts from here: a rate doesn't make up for
    /// the time before, a cut at an offset that has passed never acts, and a delay holds nothing that is on its way
    /// already. What a fault held that is gone passes on. Faults that act on messages of HTTP act on a connection whose
    /// messages are read already, or on which no byte has passed. The seed, the clock and the numbers of connections go on.
    ///
    /// - Parameter globalBuckets: the rates that it shares with other proxies.
    /// - Throws: `ProxyError.stopped` when the proxy has stopped; then nothing has changed.
    @discardableResult
    public func apply(_ profile: Profile, globalBuckets: GlobalBuckets? = nil) async throws(ProxyError) -> PlanChange {
        let listener = listener
        let change: PlanChange? = await withCheckedContinuation { continuation in
            let isPosted = listener.loop.post {
                listener.value.apply(profile, global: globalBuckets) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: nil) }
        }
        guard let change else { throw .stopped }
        current.withLock { if change.plan.generation > $0.generation { $0 = change.plan } }
        return change
    }

    /// The first address that it listens on.
    public var address: SocketAddress { addresses[0] }

    /// The profile that it has now.
    public var profile: Profile { current.withLock { $0.profile } }

    /// The phases of its profile on its clock.
    public var schedule: Schedule { current.withLock { $0.schedule } }

    /// Stops listening and closes every connection. Calling it twice is fine.
    public func stop() async {
        let listener = listener
        // A loop that has ended has closed them itself.
        _ = try? await listener.loop.run(beyondLimit: true) { listener.value.close() }
        for shard in shards { _ = try? await shard.loop.run(beyondLimit: true) { shard.value.close() } }
    }

    /// What the proxy has done so far, all loops together.
    public func statistics() async -> Statistics {
        var total = Statistics()
        for shard in shards {
            if let part = try? await shard.loop.run({ shard.value.statistics }) { total += part }
        }
        return total
    }

    /// The phase that runs at `moment`, if any.
    public func phase(at moment: Moment) -> Phase? {
        current.withLock { plan in plan.schedule.interval(at: moment).phase.map { plan.profile.phases[$0] } }
    }

    private static func resolve(
        _ endpoint: Endpoint,
        for configuration: ProxyConfiguration
    ) async throws(ProxyError) -> [SocketAddress] {
        do {
            return try await configuration.resolve(endpoint)
        } catch {
            throw .unresolved(endpoint, error)
        }
    }

    private static func open(
        _ context: ProxyContext,
        _ plan: Plan,
        on loop: EventLoop,
        _ shards: [LoopBound<Shard>],
        _ addresses: [SocketAddress]
    ) async throws(SystemError) -> Result<Proxy, ProxyError> {
        try await loop.run {
            Result { () throws(ProxyError) in try Proxy.opened(context, plan, on: loop, shards, addresses) }
        }
    }

    /// Opens the listener; to be called on its loop.
    static func opened(
        _ context: ProxyContext,
        _ plan: Plan,
        on loop: EventLoop,
        _ shards: [LoopBound<Shard>],
        _ wanted: [SocketAddress]
    ) throws(ProxyError) -> Proxy {
        let listener = Listener(loop: loop, context: context, plan: plan, shards: shards)
        do throws(ListeningSockets.Failure) {
            let addresses = try listener.open(wanted)
            let resident = LoopBound(listener, on: loop)
            return Proxy(context: context, plan: plan, addresses: addresses, listener: resident, shards: shards)
        } catch {
            let endpoint = context.configuration.listen
            let place =
                wanted.count > 1 ? Endpoint(host: error.address.host, port: error.address.port) : endpoint
            throw .cannotListen(place, error.error)
        }
    }
}
