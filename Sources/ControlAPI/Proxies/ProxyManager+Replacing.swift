import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine

extension ProxyManager {
    /// Puts the proxies of `definitions`, whose names differ, in the place of all there are; if that isn't possible nothing
    /// changes.
    ///
    /// A proxy that keeps all but its faults goes on with its connections, and gets the faults of its definition.
    /// All others are started before the connections of one of those there are end: one whose port is wanted stops listening
    /// first, and listens again if another can't be started.
    ///
    /// - Parameter body: Called when that has succeeded, before another replacement or snapshot.
    func replaceAll(
        with definitions: [Definition],
        _ body: @Sendable () -> Void
    ) async throws(ControlError) {
        try await replacing.withLock { () async throws(ControlError) in
            // Those that are starting or moving are compared as they will be.
            for proxy in all { _ = try? await proxy.settled() }
            let change = try await Replacement(of: all, by: definitions, in: self)
            try await change.perform(on: nil, body)
        }
    }

    /// Puts a proxy in the place of that of its name, which has another address; if that isn't possible nothing changes.
    func replace(_ definition: Definition) async throws(ControlError) -> ManagedProxy {
        try await replacing.withLock { () async throws(ControlError) in
            _ = try? await proxy(definition.name).settled()
            let present = try proxy(definition.name)
            try present.checkMayEnd()
            let change = try await Replacement(of: [present], by: [definition], in: self)
            try await change.perform(on: definition.name) {}
            return try proxy(definition.name)
        }
    }
}

/// The steps from the proxies that there are to others.
private struct Replacement {
    private let manager: ProxyManager
    /// The names of the proxies that stay.
    private var staying: Set<String>
    private var kept: [(proxy: ManagedProxy, definition: ProxyManager.Definition)] = []
    private var new: [String: ManagedProxy] = [:]
    private var starting: [(proxy: ManagedProxy, isEnabled: Bool)] = []
    private let leaving: [ManagedProxy]
    /// The leaving proxies whose ports are wanted.
    private let yielding: [ManagedProxy]

    /// Checks `definitions`.
    init(
        of present: [ManagedProxy],
        by definitions: [ProxyManager.Definition],
        in manager: ProxyManager
    ) async throws(ControlError) {
        self.manager = manager
        let names = Dictionary(present.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // Not part of a snapshot.
        staying = Set(present.filter { $0.supervised != nil }.map(\.name))
        for definition in definitions {
            guard !staying.contains(definition.name) else { throw .proxyExists }
            try definition.check(manager.context.forwardPolicy)
            guard let same = names[definition.name], await same.isAt(definition.state, manager.context.resolve) else {
                continue
            }
            kept.append((same, definition))
            staying.insert(same.name)
        }
        leaving = present.filter { [staying] in !staying.contains($0.name) }
        var wanted: Set<Place> = []
        for definition in definitions where !staying.contains(definition.name) {
            let proxy = ManagedProxy(definition.name, definition.state, manager.context)
            new[proxy.name] = proxy
            starting.append((proxy, definition.state.isEnabled))
            guard definition.state.isEnabled else { continue }
            if let place = Place(try ListenText.endpoint(definition.state.listen)) { wanted.insert(place) }
        }
        yielding = leaving.filter { $0.place.map(wanted.contains) ?? false }
    }

    /// Starts the new proxies, puts them in the place of that of a name, or of all, and calls `body` before another snapshot.
    ///
    /// - Throws: the first failure; the proxies are those before then, with their connections.
    func perform(on name: String?, _ body: @Sendable () -> Void) async throws(ControlError) {
        let routes = Set(leaving.compactMap { $0.state.running?.routeID })
        for proxy in yielding { await proxy.leavePort() }
        var started: [ManagedProxy] = []
        do throws(ControlError) {
            for (proxy, isEnabled) in starting {
                try await proxy.begin(isEnabled: isEnabled, replacing: routes)
                started.append(proxy)
            }
        } catch {
            for proxy in started { await proxy.end() }
            for proxy in yielding { await proxy.takePort() }
            throw error
        }
        // Their lookups end first: exchanging waits for none.
        for (proxy, _) in kept { _ = try? await proxy.settled() }
        let gone = await manager.exchanging.withLock {
            let gone = manager.exchange(name, for: new, keeping: staying)
            // Fails if the proxy has been removed meanwhile, or the server stops.
            for (proxy, definition) in kept { try? await proxy.takeFaults(of: definition.state) }
            body()
            return gone
        }
        for proxy in gone { await proxy.end() }
        manager.context.journal.notices.noteChange()
    }
}

/// What one listener at a time can have: a port, of whatever address, or a path.
private enum Place: Hashable {
    case port(UInt16)
    case path(String)

    /// The place of an endpoint; `nil` for a free port.
    init?(_ endpoint: Endpoint) {
        if let path = endpoint.unix {
            self = .path("\(path)")
        } else if endpoint.hasFreePort {
            return nil
        } else {
            self = .port(endpoint.port)
        }
    }
}

extension ManagedProxy {
    /// The place at which the proxy listens now.
    fileprivate var place: Place? {
        let state = state
        guard state.running != nil, let endpoint = try? ListenText.endpoint(state.listen) else { return nil }
        return Place(endpoint)
    }

    /// Whether the proxy is as in `other`, but for its faults.
    fileprivate func isAt(
        _ other: State,
        _ resolve: (Endpoint) async throws(SystemError) -> [SocketAddress]
    ) async -> Bool {
        let state = state
        guard state.upstream == other.upstream, state.isEnabled == other.isEnabled, !state.isEnded,
            state.seed == other.seed, state.listenPermissions == other.listenPermissions,
            state.closesUnreached == other.closesUnreached
        else { return false }
        if state.listen == other.listen { return true }
        return await ListenText.areSame(state.listen, other.listen, resolve: resolve)
    }

    /// Replaces all faults by those of `other`. The phases of another profile begin with the first one.
    fileprivate func takeFaults(of other: State) async throws(ControlError) {
        let isOther = other.base != state.base
        try await changeFaults { state throws(ControlError) in
            state.removeExtras { _ in true }
            (state.extras, state.toxics) = (other.extras, other.toxics)
            (state.base, state.baseReference) = (other.base, other.baseReference)
        }
        // A proxy that is disabled begins with its first phase anyway.
        if isOther { try? await setClock(.restart) }
    }
}

extension ProxyManager.Definition {
    /// Throws if no proxy can be so.
    func check(_ policy: ForwardPolicy?) throws(ControlError) {
        guard !name.isEmpty else { throw .invalid("missing required field: name") }
        try ControlError.checkPathName(name)
        for extra in state.extras { try ControlError.checkPathName(extra.fault.name) }
        guard !state.upstream.isEmpty else { throw .invalid("missing required field: upstream") }
        _ = try ListenText.endpoint(state.listen)
        _ = try ListenText.destination(state.upstream, policy)
        guard state.profile(of: name).allFaults.count <= ProfileLimits.faults else {
            throw .limit("a proxy has at most \(ProfileLimits.faults) faults")
        }
    }
}
