import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import ProxyEngine
import Synchronization
import Units

/// A proxy of the control server, running or not.
///
/// Changes happen one after the other; reading waits for none of them.
final class ManagedProxy: Sendable {
    /// The state, as of the last change that succeeded.
    struct State: Sendable {
        /// The address to listen on, as written; once it has been bound, with the port that it got.
        var listen = "" { didSet { address = listen } }
        /// The address that clients are shown: `listen`, or the first one that it was bound to.
        var address = ""
        var listenPermissions: SocketPermissions?
        var upstream: String
        var isEnabled = true
        /// Whether clients get the end of the stream, and not a reset, when the upstream can't be reached.
        var closesUnreached = false
        var seed: UInt64
        /// In the order of creation.
        var toxics: [Toxic] = []
        /// The profile whose faults and phases the proxy has in addition to the toxics.
        var base: Profile?
        /// The name by which a client chose `base`; `nil` if it gave the profile itself.
        var baseReference: String?
        var extras: [ExtraFault] = []
        /// The names of the added faults that are gone, the latest last.
        var formerFaults: [String] = []
        /// The running proxy; `nil` while disabled.
        var running: Proxy?
        /// The counters of earlier runs.
        var past = Statistics()
        /// Whether the first start is over.
        var hasBegun = false
        /// Whether the proxy has been removed; it never starts again.
        var isEnded = false
    }

    /// A fault that was added by itself.
    struct ExtraFault: Hashable, Sendable {
        var fault: Fault
        /// The moment at which it goes; `nil` for never.
        var until: Moment?
    }

    /// The connections of a command, which have no address to listen on.
    struct Supervised: Sendable {
        /// How the proxy is to be, but for its profile.
        let configuration: ProxyConfiguration
        /// Called with each proxy that serves them, which takes the place of the one before.
        let begun: @Sendable (Proxy) -> Void
        /// Called with the profile, and whether the proxy is to run, before each start, and before each change of what runs.
        let changes: @Sendable (Profile, _ isEnabled: Bool) -> Void
        /// What stands where others have their address.
        static let place = "squall exec"
    }

    let name: String
    /// The connections that the proxy serves in place of those of an address; `nil` for any other proxy. No request moves it
    /// or removes it.
    let supervised: Supervised?
    private let context: ControlContext
    private let current: Mutex<State>
    private let changes = AsyncLock()
    /// The task that removes faults whose time is over.
    let expiry = Mutex<Task<Void, Never>?>(nil)

    /// A proxy that doesn't run yet.
    init(_ name: String, _ state: State, _ context: ControlContext, supervised: Supervised? = nil) {
        self.name = name
        self.supervised = supervised
        self.context = context
        var state = state
        state.isEnabled = false
        current = Mutex(state)
    }

    var state: State { current.withLock { $0 } }

    /// Throws if no request may end the proxy.
    func checkMayEnd() throws(ControlError) {
        guard supervised == nil else {
            throw .conflict("the proxy “\(name)” has the connections of a command, and stays until that ends")
        }
    }

    /// Starts the proxy for the first time, unless it is to be disabled. Changes wait until it has started; if it can't, it has
    /// ended then.
    ///
    /// - Parameters:
    ///   - routes: those of proxies that end afterwards, see `ProxyConfiguration.replacedRoutes`.
    ///   - enter: called before. Requests may find the proxy from then on.
    ///   - leave: called if it can't start.
    func begin(
        isEnabled: Bool = true,
        replacing routes: Set<Int> = [],
        entering enter: @Sendable () throws(ControlError) -> Void = {},
        orElse leave: @Sendable () -> Void = {}
    ) async throws(ControlError) {
        try await changes.withLock { () async throws(ControlError) in
            try enter()
            defer { context.journal.notices.noteChange() }
            var new = state
            do throws(ControlError) {
                if isEnabled { try await startAnother(in: &new, replacing: routes) }
                new.hasBegun = true
                keep(new)
            } catch {
                leave()
                new.isEnded = true
                keep(new)
                throw error
            }
        }
    }

    /// The state after the changes that are under way, the first start among them.
    ///
    /// - Throws: `proxyNotFound` if the proxy has ended.
    func settled() async throws(ControlError) -> State {
        try await changes.withLock { () async throws(ControlError) in
            let state = state
            guard !state.isEnded else { throw .proxyNotFound }
            return state
        }
    }

    /// The state, once the first start is over; later changes aren't waited for.
    ///
    /// - Throws: `proxyNotFound` if the proxy has ended.
    func begun() async throws(ControlError) -> State {
        let state = state
        return state.hasBegun && !state.isEnded ? state : try await settled()
    }

    /// Starts, stops or moves the proxy, so that it is as `listen`, `upstream` and `isEnabled` say; `nil` keeps the present
    /// value. Its connections are closed if an address changes or it is disabled.
    ///
    /// If it can't start with the new addresses, the proxy goes on as before, with its connections.
    func update(listen: String? = nil, upstream: String? = nil, isEnabled: Bool? = nil) async throws(ControlError) {
        try await changing { new throws(ControlError) in
            let old = new
            new.isEnabled = isEnabled ?? old.isEnabled
            if supervised == nil {
                if let listen, await !ListenText.areSame(listen, old.listen, resolve: context.resolve) {
                    new.listen = listen
                }
                new.upstream = upstream ?? old.upstream
                _ = try ListenText.endpoint(new.listen)
                _ = try ListenText.destination(new.upstream, context.forwardPolicy)
            } else if (listen ?? old.listen, upstream ?? old.upstream) != (old.listen, old.upstream) {
                throw .conflict("the proxy “\(name)” has the connections of a command, and no address to change")
            }
            let isMoved = new.listen != old.listen || new.upstream != old.upstream
            if new.isEnabled, old.running == nil || isMoved {
                try await start(&new)
            } else if !new.isEnabled, let running = old.running {
                supervised?.changes(running.profile, false)
                await stop(running, &new)
            }
        }
    }

    /// Closes the connections, and starts the proxy at its address with a clock at zero. Enables it if it is disabled.
    func beginAnew() async throws(ControlError) {
        try await changing { new throws(ControlError) in try await start(&new) }
    }

    /// Changes the state when the changes before have ended. What `change` throws is thrown, and the state stays.
    @_semantics("optimize.sil.specialize.generic.never")
    private func changing<Result: Sendable>(
        _ change: @Sendable (inout State) async throws(ControlError) -> Result
    ) async throws(ControlError) -> Result {
        try await changes.withLock { () async throws(ControlError) in
            var new = state
            guard !new.isEnded else { throw .proxyNotFound }
            let result = try await change(&new)
            keep(new)
            context.journal.notices.noteChange()
            return result
        }
    }

    private func keep(_ state: State) { current.withLock { $0 = state } }

    /// Starts the proxy with `state`, and then stops the one that runs there.
    private func start(_ state: inout State) async throws(ControlError) {
        let old = state.running
        try await startAnother(in: &state)
        if let old { await stop(old, &state) }
    }

    private func startAnother(in state: inout State, replacing routes: Set<Int> = []) async throws(ControlError) {
        if var configuration = supervised?.configuration {
            configuration.profile = state.profile(of: name)
            configuration.captureSwitch = context.captures.connections
            supervised?.changes(configuration.profile, true)
            let proxy = try await start(configuration, inPlaceOf: state.running)
            (state.running, state.isEnabled) = (proxy, true)
            supervised?.begun(proxy)
            return
        }
        var configuration = ProxyConfiguration(
            name: name,
            listen: try ListenText.endpoint(state.listen),
            destination: try ListenText.destination(state.upstream, context.forwardPolicy),
            profile: state.profile(of: name),
            seed: state.seed
        )
        if let permissions = state.listenPermissions { configuration.listenPermissions = permissions }
        if let tls = try context.tls(for: configuration) { configuration.tls = tls }
        configuration.startsUnresolved = true
        configuration.endings = EndingRules(
            closesUnreached: state.closesUnreached,
            closesAtOnce: context.isStrict,
            endsWithDiscard: context.isStrict
        )
        configuration.clockStart = context.clockStart
        configuration.captureSwitch = context.captures.connections
        configuration.replacedRoutes = routes
        let (listen, resolve) = (configuration.listen, context.resolve)
        configuration.resolve = { endpoint throws(SystemError) in
            endpoint == listen
                ? try await ListenText.addresses(endpoint, resolve: resolve) : try await resolve(endpoint)
        }
        let proxy = try await start(configuration, inPlaceOf: state.running)
        let bound = Endpoint(host: listen.host, port: proxy.address.port, usesTLS: listen.usesTLS)
        state.listen = (listen.unix == nil ? bound : listen).description
        state.address = "\(listen.usesTLS ? Endpoint.tlsPrefix : "")\(proxy.address)"
        (state.running, state.isEnabled) = (proxy, true)
    }

    /// Starts a proxy. If `old` has its port, that stops listening first, and listens again if the new one can't start.
    private func start(
        _ configuration: ProxyConfiguration,
        inPlaceOf old: Proxy?
    ) async throws(ControlError) -> Proxy {
        var configuration = configuration
        if let old { configuration.replacedRoutes.insert(old.routeID) }
        // A Unix-domain socket is tried by a connection, which the old proxy would count and forward.
        let unix = configuration.listen.unix
        let isAtOldSocket = unix != nil && old?.configuration.listen.unix == unix
        let (hub, report, name, loops) = (context.journal, context.report, name, context.loops)
        let start = { @Sendable [configuration] () async throws(ProxyError) -> Proxy in
            try await Proxy.start(
                configuration,
                on: loops,
                journal: { hub.record($0) },
                report: { event in report(name, event) }
            )
        }
        return try await ControlError.running { () throws(ProxyError) in
            do throws(ProxyError) {
                if !isAtOldSocket { return try await start() }
            } catch {
                guard case .cannotListen(_, let reason) = error, reason.isAddressInUse, let old,
                    old.address.port == configuration.listen.port
                else { throw error }
            }
            await old?.leavePort()
            do throws(ProxyError) {
                return try await start()
            } catch {
                await takePort(old)
                throw error
            }
        }
    }

    /// Stops a proxy, and adds its counters to those of `state`.
    private func stop(_ proxy: Proxy, _ state: inout State) async {
        await proxy.stop()
        state.past += await proxy.statistics()
        if state.running === proxy { state.running = nil }
    }

    /// Changes the faults. `change` may throw, or the profile may be too large; nothing has changed then. Returns when every
    /// loop has applied it, and waits for no connection.
    @_semantics("optimize.sil.specialize.generic.never")
    func changeFaults<Result: Sendable>(
        _ change: @Sendable (inout State) throws(ControlError) -> Result
    ) async throws(ControlError) -> Result {
        try await changing { new throws(ControlError) in
            let result = try change(&new)
            try await apply(new)
            return result
        }
    }

    private func apply(_ state: State) async throws(ControlError) {
        let profile = state.profile(of: name)
        guard profile.allFaults.count <= ProfileLimits.faults else {
            throw .limit("a proxy has at most \(ProfileLimits.faults) faults")
        }
        if let running = state.running, running.profile != profile {
            supervised?.changes(profile, true)
            try await ControlError.running { () throws(ProxyError) in try await running.apply(profile) }
        }
        scheduleExpiry(of: state.extras)
    }

    /// Changes the clock of the phases. No change stops the proxy meanwhile.
    func setClock(_ action: ClockAction) async throws(ControlError) {
        try await changing { state throws(ControlError) in
            guard let running = state.running else {
                throw .conflict("the proxy “\(name)” is disabled, so it has no clock")
            }
            supervised?.changes(running.profile, true)
            try await ControlError.running { () throws(ProxyError) in try await running.setClock(action) }
        }
    }

    /// The counters since the proxy was created.
    ///
    /// - Parameter tell: called once when a counter, but those of bytes, differs from the result; not if the proxy stops or
    ///   starts, which the journal's notices tell.
    func statistics(telling tell: (@Sendable () -> Void)? = nil) async -> Statistics {
        let state = state
        var total = state.past
        if let running = state.running {
            if let tell { running.tellOnce(tell) }
            total += await running.statistics()
        }
        return total
    }

    /// Stops listening and ends no connection, until `takePort` or `end`.
    func leavePort() async {
        await changes.withLock { await state.running?.leavePort() }
    }

    /// Listens again after `leavePort`; the proxy is disabled if another socket has its port by now.
    func takePort() async {
        await changes.withLock { await takePort(state.running) }
    }

    private func takePort(_ running: Proxy?) async {
        guard let running else { return }
        do throws(ProxyError) {
            try await running.takePort()
        } catch {
            var new = state
            await stop(running, &new)
            new.isEnabled = false
            keep(new)
            context.journal.notices.noteChange()
        }
    }

    /// Stops the proxy for good.
    func end() async {
        scheduleExpiry(of: [])
        await changes.withLock {
            var new = state
            if let running = new.running { await stop(running, &new) }
            (new.isEnabled, new.isEnded) = (false, true)
            keep(new)
        }
    }
}

extension ManagedProxy.State {
    /// The faults of the profile, the added ones and the toxics, as one profile. A name that is taken gets a number.
    func profile(of proxy: String) -> Profile {
        var profile = base?.narrowed(to: proxy) ?? Profile(name: "none")
        profile.proxies = []
        var names = Set(profile.allFaults.map(\.name))
        for fault in extras.map(\.fault) + toxics.compactMap({ $0.fault(named: $0.name) }) {
            let name = fault.name
            var fault = fault
            var number = 1
            while !names.insert(fault.name).inserted {
                number += 1
                fault.name = "\(name)-\(number)"
            }
            profile.faults.append(fault)
        }
        return profile
    }
}
