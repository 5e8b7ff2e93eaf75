import EventLoop
import FaultPlan
import FaultProfile
import Units

/// A proxy that runs: it listens, and treats every connection as its profile says.
public final class Proxy: Sendable {
    /// What it was started with.
    public let configuration: ProxyConfiguration
    /// The address that it listens on, with the port that was chosen for port 0.
    public let address: SocketAddress
    /// The moment at which its clock, and with it the first phase, begins or began.
    public let started: Moment
    /// The phases of its profile on its clock.
    public let schedule: Schedule

    let listener: Resident<Listener>
    let shards: [Resident<Shard>]

    init(
        context: ProxyContext,
        address: SocketAddress,
        listener: Resident<Listener>,
        shards: [Resident<Shard>]
    ) {
        configuration = context.configuration
        self.address = address
        schedule = context.plan.schedule
        started = context.plan.schedule.start
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
        let listenAddresses = try await resolve(configuration.listen)
        let upstreamAddresses = try await resolve(configuration.upstream)
        let context = try ProxyContext(
            configuration,
            listen: listenAddresses[0],
            upstream: upstreamAddresses,
            journal: journal,
            report: report
        )
        do throws(SystemError) {
            var shards: [Resident<Shard>] = []
            for loop in group.loops {
                shards.append(try await loop.run { Resident(Shard(loop: loop, context: context), on: loop) })
            }
            return try await open(context, on: group.next(), shards, listenAddresses)
        } catch {
            configuration.registry.remove(context.route.id)
            throw error.isStopped ? .stopped : .cannotListen(configuration.listen, error)
        }
    }

    /// Stops listening and closes every connection. Calling it twice is fine.
    public func stop() async {
        let listener = listener
        _ = try? await listener.loop.run { listener.value.close() }
        for shard in shards { _ = try? await shard.loop.run { shard.value.close() } }
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
        schedule.stretch(at: moment).phase.map { configuration.profile.phases[$0] }
    }

    private static func resolve(_ endpoint: Endpoint) async throws(ProxyError) -> [SocketAddress] {
        do {
            return try await Resolver.resolve(endpoint)
        } catch {
            throw .unresolved(endpoint, error)
        }
    }

    private static func open(
        _ context: ProxyContext,
        on loop: EventLoop,
        _ shards: [Resident<Shard>],
        _ addresses: [SocketAddress]
    ) async throws(SystemError) -> Proxy {
        let opened = try await loop.run { () -> Result<Proxy, SystemError> in
            Result { () throws(SystemError) in try Proxy.opened(context, on: loop, shards, addresses[0]) }
        }
        return try opened.get()
    }

    /// Opens the listener; to be called on its loop.
    static func opened(
        _ context: ProxyContext,
        on loop: EventLoop,
        _ shards: [Resident<Shard>],
        _ wanted: SocketAddress
    ) throws(SystemError) -> Proxy {
        let listener = Listener(loop: loop, context: context, shards: shards)
        let address = try listener.open(wanted)
        let resident = Resident(listener, on: loop)
        return Proxy(context: context, address: address, listener: resident, shards: shards)
    }
}
