import EventLoop
import FaultPlan
import OperatingSystem
import Synchronization
import Units

/// The state that the loops of one proxy share: constants, atomic counters, and the door to the listener.
final class ProxyContext: Sendable {
    let configuration: ProxyConfiguration
    /// The addresses of the proxy at its start, and its number in the process.
    let route: ProxyRoute
    /// The addresses of the only server; none where clients name their targets.
    private let upstream: UpstreamAddresses
    /// The waits of clients after wrong passwords.
    let passwordTries = Mutex(PasswordTries())
    let lookups = TargetLookups()
    /// Whether connections are looked at that may lead back to the proxy.
    let loopDetection: ProxyRegistry.LoopDetection
    let openConnections = Atomic<Int>(0)
    let counters = CounterWatch()
    let isRefusing = Atomic<Bool>(false)
    /// Whether clients wait for a connection to end.
    let isRoomAwaited = Atomic<Bool>(false)
    let listener = ListenerHandle()
    /// The begin of the last phase that a capture tells of.
    let capturedPhase = Atomic<Int64>(.min)
    private let journal: @Sendable (JournalEntry) -> Void
    private let report: @Sendable (ProxyEvent) -> Void
    /// A bit for each reason that has been told, by its place among all.
    private let unreadReasons = Atomic<UInt32>(0)

    /// Registers the route of a proxy. The addresses have been looked up; `failure` says why the upstream has none.
    ///
    /// - Throws: `ProxyError.forwardsToItself`.
    init(
        _ configuration: ProxyConfiguration,
        listen: [SocketAddress],
        upstream: [SocketAddress],
        failure: SystemError? = nil,
        journal: @escaping @Sendable (JournalEntry) -> Void,
        report: @escaping @Sendable (ProxyEvent) -> Void
    ) throws(ProxyError) {
        self.configuration = configuration
        (route, loopDetection) = try configuration.registry.add(
            configuration.name,
            listen: listen,
            upstream: upstream,
            leaving: configuration.replacedRoutes
        )
        self.upstream = UpstreamAddresses(
            route.upstream,
            of: configuration.destination.upstream,
            failure: failure,
            at: MonotonicClock.now
        )
        self.journal = journal
        self.report = report
    }

    var registry: ProxyRegistry { configuration.registry }
    /// The addresses to dial, in order; none while the upstream's name has none. Another thread may replace them between two
    /// calls, but never by fewer.
    var upstreamAddresses: [SocketAddress] { upstream.all }
    /// The reason why the upstream has no address.
    var upstreamFailure: SystemError? { upstream.failure }

    /// Looks up the upstream's name again, off every loop, if it is due. Connections use the known addresses meanwhile. Those
    /// stay if none is found, or if the new ones lead back to the proxy.
    func renewUpstream(because reason: LookupSchedule.Reason, at now: Moment) {
        guard let endpoint = configuration.destination.upstream, upstream.beginLookup(because: reason, at: now) else {
            return
        }
        Task {
            await lookUp(endpoint)
            upstream.endLookup()
        }
    }

    /// Looks up an upstream's name that has no address, once in `LookupSchedule.pause`, until it has one or the proxy has
    /// stopped.
    func awaitAddress() {
        Task { [weak self] in
            while (try? await Task.sleep(for: LookupSchedule.pause)) != nil {
                guard let self, upstream.all.isEmpty, registry.has(route.id) else { return }
                renewUpstream(because: .unreachable, at: MonotonicClock.now)
            }
        }
    }

    private func lookUp(_ endpoint: Endpoint) async {
        let found: [SocketAddress]
        do {
            found = try await configuration.resolve(endpoint)
        } catch {
            return upstream.note(error)
        }
        do throws(ProxyError) {
            guard let addresses = try registry.replaceUpstream(of: route.id, by: found) else { return }
            upstream.replace(by: addresses)
        } catch {
            report(.upstreamLeadsBack(endpoint))
        }
    }

    /// Decrements the count of connections. Sequentially consistent with `isRoomAwaited`: the listener sees the count or is
    /// called.
    func connectionEnded() {
        openConnections.subtract(1, ordering: .sequentiallyConsistent)
        if isRoomAwaited.load(ordering: .sequentiallyConsistent) { listener.post(.roomIsFree) }
    }

    /// Has every loop release connections whose peers are gone. The listener waits meanwhile.
    func noteShortage() { listener.post(.descriptorsAreShort) }

    /// Sets the flags of faults that come after that of an event; the listener follows. Calling it twice is fine.
    func note(_ event: FaultEvent, of plan: Plan) {
        if plan.note(event) { listener.post(.admissionMayChange) }
    }

    /// Writes an event of a fault of `plan` into the journal, and notes it.
    func record(_ event: FaultEvent, of plan: Plan, connection: UInt64?, direction: Direction?, at moment: Moment) {
        note(event, of: plan)
        journal(plan.journalEntry(of: event, connection: connection, direction: direction, at: moment))
    }

    /// Reports, once for each reason, that faults of messages can't act on a stream.
    func tellUnread(_ reason: UnreadReason) {
        let place = UnreadReason.allCases.firstIndex(of: reason) ?? 0
        let bit: UInt32 = 1 << UInt32(place)
        let (told, _) = unreadReasons.bitwiseOr(bit, ordering: .relaxed)
        if told & bit == 0 { report(.streamUnread(reason)) }
    }

    /// Reports a problem to the caller of `Proxy.start`.
    func tell(_ event: ProxyEvent) {
        if case .upstreamUnreachable = event { renewUpstream(because: .unreachable, at: MonotonicClock.now) }
        report(event)
    }
}

extension Plan {
    /// The plan of a proxy that is about to start. Its clock starts now by default.
    convenience init(_ configuration: ProxyConfiguration) {
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
