import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import Synchronization
import Units

/// A running proxy: it listens, and forwards every connection with the faults of its profile.
public final class Proxy: Sendable {
    /// The configuration that it was started with.
    public let configuration: ProxyConfiguration
    /// The addresses that it listens on, with the port that was chosen for port 0: every address of the name. A private one
    /// has none.
    public let addresses: [SocketAddress]
    /// The moment at which its clock, and with it the first phase, began or begins at first; see `clock` for its time now.
    public let started: Moment

    private let context: ProxyContext
    private let current: Mutex<Plan>
    private let counters: CounterWatch
    let listener: LoopBound<Listener>
    let shards: [LoopBound<Shard>]

    init(
        context: ProxyContext,
        plan: Plan,
        addresses: [SocketAddress],
        listener: LoopBound<Listener>,
        shards: [LoopBound<Shard>]
    ) {
        self.context = context
        configuration = context.configuration
        self.addresses = addresses
        current = Mutex(plan)
        counters = context.counters
        started = plan.schedule.start
        self.listener = listener
        self.shards = shards
    }

    /// Starts a proxy on the loops of `group`. It runs until `stop` or until the loops end; they keep it alive.
    ///
    /// - Parameters:
    ///   - journal: called for every event of a fault, on any loop; it must not block.
    ///   - report: called for every other problem, on any loop; it must not block.
    /// - Throws: `ProxyError` when a name has no address, the address can't be listened on, connections would come
    ///   back to the proxy, through other proxies of the process or not, or other machines could use a forward proxy
    ///   without being asked for anything. Nothing is left behind then.
    public static func start(
        _ configuration: ProxyConfiguration,
        on group: EventLoopGroup,
        journal: @escaping @Sendable (JournalEntry) -> Void = { _ in },
        report: @escaping @Sendable (ProxyEvent) -> Void = { _ in }
    ) async throws(ProxyError) -> Proxy {
        try checkTLS(of: configuration)
        let listenAddresses =
            configuration.isPrivate ? [] : try await resolve(configuration.listen, for: configuration)
        var upstreamAddresses: [SocketAddress] = []
        var failure: SystemError?
        switch configuration.destination {
        case .requested(let policy):
            if policy.isOpen(at: listenAddresses) { throw .openToAnybody(configuration.listen) }
        case .upstream(let endpoint):
            do throws(ProxyError) {
                upstreamAddresses = try await resolve(endpoint, for: configuration)
            } catch {
                guard configuration.startsUnresolved, case .unresolved(_, let reason) = error else { throw error }
                failure = reason
            }
        }
        let plan = Plan(configuration)
        let context = try ProxyContext(
            configuration,
            listen: listenAddresses,
            upstream: upstreamAddresses,
            failure: failure,
            journal: journal,
            report: report
        )
        let shards = group.loops.map { loop in
            LoopBound(on: loop) { Shard(loop: loop, context: context, plan: plan) }
        }
        let opened: Result<Proxy, ProxyError>
        do throws(SystemError) {
            opened = try await open(context, plan, on: group.next(), shards, listenAddresses)
        } catch {
            opened = .failure(error.isStopped ? .stopped : .cannotListen(configuration.listen, error))
        }
        if case .failure = opened { configuration.registry.remove(context.route.id) }
        let proxy = try opened.get()
        if let failure, let endpoint = configuration.destination.upstream {
            report(.upstreamUnresolved(endpoint, failure))
            context.awaitAddress()
        }
        proxy.tellOfTLS(plan.faults.map(\.self))
        return proxy
    }

    /// Replaces the profile, on live connections as well, and returns when every loop has applied it. It waits for no
    /// connection, and no connection loses a byte.
    ///
    /// A fault that has not changed keeps its state. A new one starts at the current position: a rate doesn't make up for
    /// earlier time, a cut at an offset that has passed never acts, and a delay doesn't hold bytes that are on their way. Bytes
    /// that a removed fault held are passed on. A fault of HTTP messages acts from the next request of a connection on;
    /// `Statistics.joining` and `unread` count those that it doesn't reach yet, or at all. The seed, the clock and the numbers
    /// of connections don't change.
    ///
    /// - Parameter globalBuckets: the rates that the proxy shares with others.
    /// - Throws: `ProxyError.stopped` if the proxy has stopped; nothing has changed then.
    @discardableResult
    public func apply(_ profile: Profile, globalBuckets: GlobalBuckets? = nil) async throws(ProxyError) -> PlanChange {
        try check(profile)
        let listener = listener
        let change: PlanChange? = await withCheckedContinuation { continuation in
            let isPosted = listener.loop.postBeyondLimit {
                listener.value.apply(profile, global: globalBuckets) { continuation.resume(returning: $0) }
            }
            if !isPosted { continuation.resume(returning: nil) }
        }
        guard let change else { throw .stopped }
        apply(change)
        let added = Set(change.added)
        tellOfTLS(change.plan.faults.filter { added.contains($0.name) })
        return change
    }

    /// Checks that a profile can be applied.
    ///
    /// - Throws: `ProxyError.unusable` for a certificate that can't be presented.
    public func check(_ profile: Profile) throws(ProxyError) { try Proxy.check(profile, configuration.tls) }

    private static func check(_ profile: Profile, _ tls: ProxyTLS) throws(ProxyError) {
        guard let acceptor = tls.acceptor else { return }
        for fault in profile.allFaults {
            guard case .tls(.identity(let file)) = fault.kind else { continue }
            do throws(TLSSessionFailure) { try acceptor.check(file) } catch { throw .unusable(file, error) }
        }
    }

    /// Reports those of `faults` that want clients with TLS where they have none.
    private func tellOfTLS(_ faults: [Fault]) {
        guard !configuration.listen.usesTLS, !configuration.intercepts else { return }
        let names = faults.filter { if case .tls = $0.kind { true } else { false } }.map(\.name)
        if !names.isEmpty { context.tell(.clientsWithoutTLS(faults: names)) }
    }

    /// Notes the plan that all loops follow now.
    func apply(_ change: PlanChange) {
        current.withLock { if change.plan.generation > $0.generation { $0 = change.plan } }
    }

    var plan: Plan { current.withLock { $0 } }

    var upstreamAddresses: [SocketAddress] { context.upstreamAddresses }

    /// The number of its route, see `ProxyConfiguration.replacedRoutes`.
    package var routeID: Int { context.route.id }

    /// The first address of `addresses`.
    public var address: SocketAddress { addresses[0] }

    /// The current profile.
    public var profile: Profile { current.withLock { $0.profile } }

    /// The phases of the current profile on the proxy's clock.
    public var schedule: Schedule { current.withLock { $0.schedule } }

    /// Stops listening and closes every connection. Its port is free when it returns. Calling it twice is fine.
    public func stop() async {
        let (listener, shards) = (listener, shards)
        await withCheckedContinuation { continuation in
            let closed = Countdown(shards.count) { continuation.resume() }
            // A connection that the listener has handed over is adopted first.
            let closeShards = { @Sendable in
                for shard in shards {
                    let isPosted = shard.loop.postBeyondLimit {
                        shard.value.close()
                        closed.signal()
                    }
                    // A loop that has ended has closed its connections.
                    if !isPosted { closed.signal() }
                }
            }
            let isPosted = listener.loop.postBeyondLimit {
                listener.value.close()
                closeShards()
            }
            if !isPosted { closeShards() }
        }
    }

    /// Stops listening, so that its port is free when it returns, and ends no connection; undone by `takePort`.
    package func leavePort() async {
        let listener = listener
        _ = try? await listener.loop.run(beyondLimit: true) { listener.value.leavePort() }
    }

    /// Listens again after `leavePort`. Nothing if the proxy has stopped.
    ///
    /// - Throws: `ProxyError.cannotListen` if another socket has the port by now.
    package func takePort() async throws(ProxyError) {
        let (listener, addresses) = (listener, addresses)
        let result = try? await listener.loop.run(beyondLimit: true) {
            Result { () throws(ListeningSockets.Failure) in try listener.value.takePort(addresses) }
        }
        do throws(ListeningSockets.Failure) {
            try result?.get()
        } catch {
            throw .cannotListen(configuration.listen, error.error)
        }
    }

    /// The counters of all loops together.
    public func statistics() async -> Statistics {
        let listener = listener
        async let parts = onShards { $0.statistics }
        let own = try? await listener.loop.run(beyondLimit: true) { listener.value.statistics }
        return await parts.reduce(into: own ?? Statistics()) { $0 += $1 }
    }

    /// Calls `tell` once when a counter changes, but for those of bytes and refused clients; in the place of the closure
    /// before. It is called on any loop and must not block. Changes before `statistics` is called are in its result.
    package func tellOnce(_ tell: @escaping @Sendable () -> Void) { counters.arm(tell) }

    /// The phase that runs at `moment`, if any.
    public func phase(at moment: Moment) -> Phase? {
        current.withLock { plan in plan.schedule.interval(at: moment).phase.map { plan.profile.phases[$0] } }
    }

    private static func checkTLS(of configuration: ProxyConfiguration) throws(ProxyError) {
        let (listen, tls) = (configuration.listen, configuration.tls)
        if listen.usesTLS {
            if configuration.destination.policy != nil { throw .noTLSHere(listen) }
            if tls.acceptor == nil { throw .withoutTLS(listen) }
        }
        if configuration.intercepts {
            precondition(tls.acceptor != nil && tls.connector != nil, "TLS is intercepted on both sides")
        }
        try check(configuration.profile, tls)
        guard let upstream = configuration.destination.upstream, upstream.usesTLS else { return }
        if tls.connector == nil { throw .withoutTLS(upstream) }
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

    /// Opens the listener. Must be called on its loop.
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
            // The address that a name has, which tells more than the name.
            let address = Endpoint(host: error.address.host, port: error.address.port)
            throw .cannotListen(endpoint.unix == nil ? address : endpoint, error.error)
        }
    }
}
