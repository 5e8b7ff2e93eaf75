import EventLoop
import FaultProfile
import ProxyEngine

extension ProxyManager {
    /// Puts the proxies of `definitions`, whose names differ, in the place of all there are; if that isn't possible nothing
    /// changes.
    ///
    /// A proxy that keeps its name, addresses and seed goes on with its connections, and gets the faults of its definition.
    /// All others are started before one of those there are is stopped, except at a port that one of these has: if such a
    /// port is lost in between, the proxies before come back as far as they can listen, without their connections.
    func replaceAll(with definitions: [Definition]) async throws(ControlError) {
        try await replacing.withLock { () async throws(ControlError) in
            let before = all
            let change = try await Replacement(of: before, by: definitions, in: self)
            let old = before.map { Definition(of: $0) }
            do throws(ControlError) {
                try await change.perform()
            } catch {
                for name in all.map(\.name) where !change.isKept(name) { try? await remove(name) }
                for definition in old {
                    if let kept = try? proxy(definition.name) {
                        try? await kept.takeFaults(of: definition)
                    } else {
                        await restore(definition)
                    }
                }
                throw error
            }
        }
    }

    /// Makes a proxy that there was; a disabled one if it can't listen.
    private func restore(_ definition: Definition) async {
        do throws(ControlError) {
            try await create(definition)
        } catch {
            var disabled = definition
            disabled.isEnabled = false
            _ = try? await create(disabled)
        }
    }
}

/// The steps from the proxies that there are to others.
private struct Replacement {
    private let manager: ProxyManager
    private var kept: [(proxy: ManagedProxy, definition: ProxyManager.Definition)] = []
    private var next: [String: ManagedProxy] = [:]
    /// The proxies that start once those before have left their ports.
    private var late: [ManagedProxy] = []

    /// Checks `definitions`, and starts what can be started beside `present`. Nothing is left if it throws.
    init(
        of present: [ManagedProxy],
        by definitions: [ProxyManager.Definition],
        in manager: ProxyManager
    ) async throws(ControlError) {
        self.manager = manager
        var fresh: [ManagedProxy] = []
        let names = Dictionary(present.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for definition in definitions {
            try definition.check(manager.context.forwardPolicy)
            guard let same = names[definition.name], await same.isAt(definition, seed: manager.seed) else { continue }
            kept.append((same, definition))
            next[same.name] = same
        }
        let leaving = present.filter { next[$0.name] == nil }.compactMap(\.place)
        do throws(ControlError) {
            for definition in definitions where next[definition.name] == nil {
                let proxy = ManagedProxy(definition.name, definition.state(seed: manager.seed), manager.context)
                next[proxy.name] = proxy
                guard definition.isEnabled else { continue }
                if let place = Place(try ListenText.endpoint(definition.listen)), leaving.contains(place) {
                    late.append(proxy)
                } else {
                    try await proxy.update(isEnabled: true)
                    fresh.append(proxy)
                }
            }
        } catch {
            for proxy in fresh { await proxy.end() }
            throw error
        }
    }

    /// Whether the proxy of a name goes on.
    func isKept(_ name: String) -> Bool { kept.contains { $0.proxy.name == name } }

    /// Exchanges the proxies.
    ///
    /// - Throws: the first failure; the proxies are those of the definitions then, and some don't run.
    func perform() async throws(ControlError) {
        for (name, proxy) in manager.exchange(for: next) where next[name] !== proxy { await proxy.end() }
        manager.context.journal.noteChange()
        for (proxy, definition) in kept { try await proxy.takeFaults(of: definition) }
        for proxy in late { try await proxy.update(isEnabled: true) }
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

    /// Whether the proxy is what a definition says, but for its faults.
    fileprivate func isAt(_ definition: ProxyManager.Definition, seed: UInt64) async -> Bool {
        let state = state
        guard state.upstream == definition.upstream, state.isEnabled == definition.isEnabled, !state.isEnded,
            state.seed == definition.seed ?? seed, state.listenPermissions == definition.listenPermissions
        else { return false }
        if state.listen == definition.listen { return true }
        return await ListenText.areSame(state.listen, definition.listen)
    }

    /// Replaces all faults by those of a definition. The phases of another profile begin with the first one.
    fileprivate func takeFaults(of definition: ProxyManager.Definition) async throws(ControlError) {
        let isOther = definition.base != state.base
        try await changeFaults { state throws(ControlError) in
            state.removeExtras { _ in true }
            state.extras = definition.extras.map { .init(fault: $0) }
            state.toxics = definition.toxics
            (state.base, state.baseReference) = (definition.base, definition.baseReference)
        }
        // A proxy that is disabled begins with its first phase anyway.
        if isOther { try? await setClock(.restart) }
    }
}

extension ProxyManager.Definition {
    /// The proxy as it is, without the faults that go by themselves.
    fileprivate init(of proxy: ManagedProxy) {
        let state = proxy.state
        self.init(name: proxy.name, listen: state.listen, upstream: state.upstream)
        listenPermissions = state.listenPermissions
        isEnabled = state.isEnabled
        seed = state.seed
        toxics = state.toxics
        (base, baseReference) = (state.base, state.baseReference)
        extras = state.extras.filter { $0.until == nil }.map(\.fault)
    }

    /// The state of the proxy before it runs.
    func state(seed general: UInt64) -> ManagedProxy.State {
        ManagedProxy.State(
            listen: listen,
            listenPermissions: listenPermissions,
            upstream: upstream,
            isEnabled: isEnabled,
            closesUnreached: closesUnreached,
            seed: seed ?? general,
            toxics: toxics,
            base: base,
            baseReference: baseReference,
            extras: extras.map { .init(fault: $0) }
        )
    }

    /// Throws if no proxy can be so.
    fileprivate func check(_ policy: ForwardPolicy?) throws(ControlError) {
        guard !name.isEmpty else { throw .invalid("missing required field: name") }
        guard !upstream.isEmpty else { throw .invalid("missing required field: upstream") }
        _ = try ListenText.endpoint(listen)
        _ = try ListenText.destination(upstream, policy)
        guard state(seed: 0).profile(of: name).allFaults.count <= ProfileLimits.faults else {
            throw .limit("a proxy has at most \(ProfileLimits.faults) faults")
        }
    }
}
