import EventLoop
import FaultProfile
import OperatingSystem
import ProxyEngine
import Synchronization
import Units

/// The proxies of a control server, by name.
package final class ProxyManager: Sendable {
    /// The most proxies: 4,096.
    package static let proxyLimit = 4_096
    /// The most toxics of a proxy: 128.
    package static let toxicLimit = 128

    /// A proxy to be made, and how it is to be.
    struct Definition: Sendable {
        let name: String
        var state: ManagedProxy.State
    }

    let context: ControlContext
    /// The seed of proxies that have none of their own.
    package let seed: UInt64
    private let proxies = Mutex<[String: ManagedProxy]>([:])
    /// One replacement of proxies after the other.
    let replacing = AsyncLock()
    /// Held for the last steps of a replacement, of which a snapshot has all or none. Lookups under way end before
    /// them.
    let exchanging = AsyncLock()
    /// One reading of all proxies after the other.
    private let reading = AsyncLock()

    /// A manager without proxies, which run on `loops`.
    ///
    /// - Parameters:
    ///   - seed: the seed of every draw of a proxy that has none of its own.
    ///   - clockStart: the start of every proxy's clock, past or to come, so that proxies of several servers act together;
    ///     `nil` for the start of each proxy.
    ///   - isStrict: whether connections end as those of Toxiproxy do, see docs/toxiproxy.md.
    ///   - forwardPolicy: the policy of proxies whose clients name their targets; without it there are none.
    ///   - tls: makes the TLS of proxies that need it; others take what was made before, if anything was.
    ///   - resolve: looks up names.
    ///   - report: called for problems of proxies that aren't faults, with the proxy's name, on any thread.
    package init(
        loops: EventLoopGroup,
        seed: UInt64,
        clockStart: Moment? = nil,
        isStrict: Bool = false,
        forwardPolicy: ForwardPolicy? = nil,
        tls: (@Sendable (_ isNeeded: Bool) -> Result<ProxyTLS?, BeginError>)? = nil,
        journal: JournalHub,
        resolve: @escaping @Sendable (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve,
        report: @escaping @Sendable (String, ProxyEvent) -> Void
    ) {
        context = ControlContext(
            loops: loops,
            journal: journal,
            clockStart: clockStart,
            isStrict: isStrict,
            forwardPolicy: forwardPolicy,
            resolve: resolve,
            makeTLS: tls,
            report: report
        )
        self.seed = seed
    }

    /// The proxies in the order of their names.
    var all: [ManagedProxy] { proxies.withLock { $0.values.sorted { $0.name < $1.name } } }

    func proxy(_ name: String) throws(ControlError) -> ManagedProxy {
        guard let proxy = proxies.withLock({ $0[name] }) else { throw .proxyNotFound }
        return proxy
    }

    /// What `body` reads of every proxy, in the order of their names; nothing when the task is cancelled. Reads one after the
    /// other, so that requests at the same time don't add up to tasks.
    @_semantics("optimize.sil.specialize.generic.never")
    func onAll<Result: Sendable>(_ body: @escaping @Sendable (ManagedProxy) async -> Result) async -> [Result] {
        await reading.withLock { Task.isCancelled ? [] : await on(all, body) }
    }

    /// The results of `body` for each of `all`, in their order. It is called for all at the same time, since each waits for
    /// loops.
    @_semantics("optimize.sil.specialize.generic.never")
    func on<Result: Sendable>(
        _ all: [ManagedProxy],
        _ body: @escaping @Sendable (ManagedProxy) async -> Result
    ) async -> [Result] {
        await withTaskGroup(of: (Int, Result).self) { group in
            for (index, proxy) in all.enumerated() { group.addTask { (index, await body(proxy)) } }
            var results: [Result?] = Array(repeating: nil, count: all.count)
            for await (index, result) in group { results[index] = result }
            return results.compactMap { $0 }
        }
    }

    /// Changes every proxy, all at the same time. A proxy that fails keeps no other from its change, and one
    /// that is removed meanwhile is left out.
    ///
    /// - Throws: the first failure, in the order of the names.
    func changeAll(
        _ change: @escaping @Sendable (ManagedProxy) async throws(ControlError) -> Void
    ) async throws(ControlError) {
        let failures = await on(all) { proxy -> ControlError? in
            do throws(ControlError) {
                try await change(proxy)
                return nil
            } catch {
                if error.code == ControlError.proxyNotFound.code { return nil }
                return error
            }
        }
        if let failure = failures.compactMap({ $0 }).first { throw failure }
    }

    /// The definition of a proxy with the manager's seed.
    func definition(_ name: String, upstream: String) -> Definition {
        Definition(name: name, state: ManagedProxy.State(upstream: upstream, seed: seed))
    }

    /// Makes a proxy, and starts it if it is enabled. Its name is taken meanwhile; if it can't listen, nothing is stored.
    @discardableResult
    func create(
        _ definition: Definition,
        supervised: ManagedProxy.Supervised? = nil
    ) async throws(ControlError) -> ManagedProxy {
        // A supervised proxy has no address.
        if supervised == nil { try definition.check(context.forwardPolicy) }
        let proxy = ManagedProxy(definition.name, definition.state, context, supervised: supervised)
        do throws(ControlError) {
            try await proxy.begin(isEnabled: definition.state.isEnabled) { () throws(ControlError) in
                try proxies.withLock { proxies throws(ControlError) in
                    guard proxies[proxy.name] == nil else { throw .proxyExists }
                    guard proxies.count < ProxyManager.proxyLimit else {
                        throw .limit("the server has at most \(ProxyManager.proxyLimit) proxies")
                    }
                    proxies[proxy.name] = proxy
                }
            } orElse: {
                // Its name may have another one by now.
                proxies.withLock { if $0[proxy.name] === proxy { $0[proxy.name] = nil } }
            }
        } catch {
            guard error.code == ControlError.proxyExists.code else { throw error }
            // The other one may still be starting, and leave the name if it can't.
            if let other = try? self.proxy(proxy.name), (try? await other.begun()) != nil { throw error }
            return try await create(definition, supervised: supervised)
        }
        return proxy
    }

    /// Stops and forgets a proxy.
    func remove(_ name: String) async throws(ControlError) {
        let removed = try proxies.withLock { proxies throws(ControlError) in
            try proxies[name]?.checkMayEnd()
            return proxies.removeValue(forKey: name)
        }
        guard let removed else { throw .proxyNotFound }
        await removed.end()
        context.journal.notices.noteChange()
    }

    /// Puts `new` in the place of the proxy of a name, or of all but those called `kept`, without starting or stopping any;
    /// returns those that are gone. A kept one that has been removed meanwhile stays so.
    func exchange(
        _ name: String?,
        for new: [String: ManagedProxy],
        keeping kept: Set<String> = []
    ) -> [ManagedProxy] {
        proxies.withLock { proxies in
            let gone = proxies.filter { name ?? $0.key == $0.key && !kept.contains($0.key) }
            for name in gone.keys { proxies[name] = nil }
            proxies.merge(new) { $1 }
            return Array(gone.values)
        }
    }

    /// Captures all connections until the server stops. No request starts or ends another capture.
    package func capture(by capture: Capture) { context.captures.keep(capture) }

    package func stop() async {
        for proxy in all { await proxy.end() }
        context.captures.remove()
    }
}
