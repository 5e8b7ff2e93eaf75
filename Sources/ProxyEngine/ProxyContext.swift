import EventLoop
import FaultPlan
import Synchronization
import Units

/// What the loops of one proxy share: nothing that changes but a count of connections, which faults have acted, and who
/// is to be told when the listener has to look at its outages again.
final class ProxyContext: Sendable {
    let configuration: ProxyConfiguration
    /// Where the proxy forwarded to when it started, and its number in the process.
    let route: ProxyRoute
    private let upstream: UpstreamAddresses
    /// What it does to notice that it forwards to itself.
    let duties: ProxyRegistry.Duties
    let openConnections = Atomic<Int>(0)
    /// Whether the listener refuses everybody.
    let isRefusing = Atomic<Bool>(false)
    /// Whether somebody waits for a connection to end, because there is no room for another.
    let isRoomAwaited = Atomic<Bool>(false)
    /// Called on the loop of a connection that has ended, when room is awaited.
    let roomIsFree = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called when a fault has acted that the end of listening, or of answering, waits for.
    let admissionMayChange = Mutex<(@Sendable () -> Void)?>(nil)
    /// Called where a server can't be connected to for want of descriptors.
    let descriptorsAreShort = Mutex<(@Sendable () -> Void)?>(nil)
    private let journal: @Sendable (JournalEntry) -> Void
    private let report: @Sendable (ProxyEvent) -> Void

    /// Makes the route of a proxy at addresses that have been looked up.
    ///
    /// - Throws: `ProxyError.forwardsToItself`.
    init(
        _ configuration: ProxyConfiguration,
        listen: [SocketAddress],
        upstream: [SocketAddress],
        journal: @escaping @Sendable (JournalEntry) -> Void,
        report: @escaping @Sendable (ProxyEvent) -> Void
    ) throws(ProxyError) {
        self.configuration = configuration
        (route, duties) = try configuration.registry.add(configuration.name, listen: listen, upstream: upstream)
        self.upstream = UpstreamAddresses(route.upstream, of: configuration.upstream, at: MonotonicClock.now)
        self.journal = journal
        self.report = report
    }

    var registry: ProxyRegistry { configuration.registry }
    /// The addresses to connect to, in the order in which they are tried. Another thread may replace them between two
    /// calls, but never by fewer.
    var upstreamAddresses: [SocketAddress] { upstream.all }

    /// Looks up the upstream's name again, on no loop, if it is time to. Connections meanwhile go to the addresses that
    /// are there, and those stay if none is found or connections would come back to the proxy.
    func renewUpstream(because reason: LookupSchedule.Reason, at now: Moment) {
        guard upstream.beginLookup(because: reason, at: now) else { return }
        Task {
            await lookUpUpstream()
            upstream.endLookup()
        }
    }

    private func lookUpUpstream() async {
        guard let found = try? await configuration.resolve(configuration.upstream) else { return }
        do throws(ProxyError) {
            guard let addresses = try registry.replaceUpstream(of: route.id, by: found) else { return }
            upstream.replace(by: addresses)
        } catch {
            report(.upstreamLeadsBack(configuration.upstream))
        }
    }

    /// Counts a connection less. In one order with `isRoomAwaited`: who waits sees the count, or is called.
    func connectionEnded() {
        openConnections.subtract(1, ordering: .sequentiallyConsistent)
        if isRoomAwaited.load(ordering: .sequentiallyConsistent) { roomIsFree.withLock { $0 }?() }
    }

    /// Has every loop release descriptors that nobody misses, and the listener wait meanwhile.
    func noteShortage() { descriptorsAreShort.withLock { $0 }?() }

    /// Writes a fault event of a fault of `plan` into the journal, and lets begin what comes after it.
    func record(_ event: FaultEvent, of plan: Plan, connection: UInt64?, direction: Direction?, at moment: Moment) {
        if plan.note(event) {
            let call = admissionMayChange.withLock { $0 }
            call?()
        }
        journal(plan.journalEntry(of: event, connection: connection, direction: direction, at: moment))
    }

    /// Tells whoever started the proxy that something is wrong.
    func tell(_ event: ProxyEvent) {
        if case .upstreamUnreachable = event { renewUpstream(because: .unreachable, at: MonotonicClock.now) }
        report(event)
    }
}

extension Plan {
    /// The plan of a proxy that is about to start. Its clock starts now if nothing is said.
    init(_ configuration: ProxyConfiguration) {
        self.init(
            profile: configuration.profile,
            seed: configuration.seed,
            proxy: configuration.name,
            start: configuration.clockStart ?? MonotonicClock.now,
            holdLimit: configuration.linkHoldLimit,
            global: configuration.globalBuckets,
            clients: ClientRates()
        )
    }
}
