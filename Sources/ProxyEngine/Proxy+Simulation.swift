import EventLoop
import FaultPlan
import FaultProfile
import Units

/// A proxy on simulated loops, which run on the caller's thread. No call waits.
extension Proxy {
    /// Starts a proxy at addresses that have been looked up; see `start`.
    package static func startSimulated(
        _ configuration: ProxyConfiguration,
        on loops: [EventLoop],
        listen: SocketAddress,
        upstream: [SocketAddress],
        journal: @escaping @Sendable (JournalEntry) -> Void,
        report: @escaping @Sendable (ProxyEvent) -> Void
    ) throws(ProxyError) -> Proxy {
        let plan = Plan(configuration)
        let context = try ProxyContext(
            configuration,
            listen: [listen],
            upstream: upstream,
            journal: journal,
            report: report
        )
        let shards = loops.map { LoopBound(Shard(loop: $0, context: context, plan: plan), on: $0) }
        do throws(ProxyError) {
            return try opened(context, plan, on: loops[0], shards, [listen])
        } catch {
            configuration.registry.remove(context.route.id)
            throw error
        }
    }

    /// Stops it; see `stop`.
    package func stopSimulated() {
        listener.value.close()
        for shard in shards { shard.value.close() }
    }

    /// Replaces the profile; see `apply`. `done` is called when all loops have it, with `nil` if the proxy has stopped.
    package func applySimulated(_ profile: Profile, done: @escaping @Sendable (PlanChange?) -> Void) {
        listener.value.apply(profile, global: nil, done: done)
    }

    /// The counters of all loops together.
    package var simulatedStatistics: Statistics {
        var total = listener.value.statistics
        for shard in shards { total += shard.value.statistics }
        return total
    }
}
