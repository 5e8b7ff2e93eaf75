import EventLoop
import Synchronization

/// The addresses that a running proxy listens on and forwards to.
struct ProxyRoute: Sendable {
    /// The number of the proxy, unique in the process.
    let id: Int
    let name: String
    /// The addresses to listen on.
    var listen: [SocketAddress]
    /// The addresses to forward to, in the order of dialing.
    var upstream: [SocketAddress]

    /// Whether the proxy may forward to an address that `other` listens on.
    func leads(to other: ProxyRoute, ownHosts: Set<String>) -> Bool {
        upstream.contains { $0.reaches(any: other.listen, ownHosts) }
    }

    /// A cycle of routes that begins with this one, in order; `nil` if there is none.
    func ring(through others: [ProxyRoute], ownHosts: Set<String>) -> [ProxyRoute]? {
        var seen: Set<Int> = [id]
        var paths = [[self]]
        while let path = paths.popLast() {
            guard let last = path.last else { continue }
            if last.leads(to: self, ownHosts: ownHosts) { return path }
            for next in others where !seen.contains(next.id) && last.leads(to: next, ownHosts: ownHosts) {
                seen.insert(next.id)
                paths.append(path + [next])
            }
        }
        return nil
    }
}

extension SocketAddress {
    /// Whether a connection to this address arrives at one of `listeners`; see `reaches(_:ownHosts:)`.
    fileprivate func reaches(any listeners: [SocketAddress], _ ownHosts: Set<String>) -> Bool {
        listeners.contains { reaches($0, ownHosts: ownHosts) }
    }
}

/// The two addresses of a TCP connection.
struct Flow: Hashable, Sendable {
    private let source: SocketAddress
    private let destination: SocketAddress

    /// The flow between two addresses in canonical form.
    init(from source: SocketAddress, to destination: SocketAddress) {
        self.source = source.canonical
        self.destination = destination.destination
    }
}

/// The proxies of this process, and the connections that they have made to each other.
///
/// A cycle of proxies is found before they start. A cycle by an address that the machine gets later is found when a proxy
/// accepts a connection that a proxy of this process has made: the registry knows the path of proxies that it has taken, and
/// a path that returns to a proxy is a cycle. Paths are kept only if a proxy listens on the port of an upstream.
package final class ProxyRegistry: Sendable {
    /// The registry of the process.
    package static let shared = ProxyRegistry()

    private let looksAhead: Bool

    /// An empty registry. Without `looksAhead`, cycles are found by their connections alone.
    package init(looksAhead: Bool = true) {
        self.looksAhead = looksAhead
    }

    /// The work of a proxy for the registry.
    final class Duties: Sendable {
        /// Whether its connections to the upstream are kept in the registry.
        let keepsFlows = Atomic<Bool>(false)
        /// Whether connections that it accepts are looked up there.
        let asksForFlows = Atomic<Bool>(false)
    }

    private struct State {
        var nextID = 1
        var routes: [Int: (route: ProxyRoute, duties: Duties)] = [:]
        var paths: [Flow: [Int]] = [:]
    }

    private let state = Mutex(State())

    /// Adds a proxy that is about to listen on `listen`, whose port may be 0.
    ///
    /// - Returns: its route, without upstream addresses that lead to itself, and its duties.
    /// - Throws: `ProxyError.forwardsToItself` if no address is left, or if running proxies lead back to it.
    func add(
        _ name: String,
        listen: [SocketAddress],
        upstream: [SocketAddress]
    ) throws(ProxyError) -> (route: ProxyRoute, duties: Duties) {
        let ownHosts = SocketAddress.ownHosts()
        return try state.withLock { state throws(ProxyError) in
            let others = try self.upstream(upstream, of: name, listen: listen, ownHosts)
            let route = ProxyRoute(id: state.nextID, name: name, listen: listen, upstream: others)
            try check(route, state, ownHosts)
            state.nextID += 1
            let duties = Duties()
            state.routes[route.id] = (route, duties)
            ProxyRegistry.assignDuties(state)
            return (route, duties)
        }
    }

    /// The proxy has been bound to `addresses`.
    func note(_ id: Int, listensOn addresses: [SocketAddress]) {
        state.withLock { state in
            state.routes[id]?.route.listen = addresses
            ProxyRegistry.assignDuties(state)
        }
    }

    /// Replaces the upstream addresses of a proxy.
    ///
    /// - Returns: the addresses without those that lead to itself; `nil` if the proxy has been removed.
    /// - Throws: `ProxyError.forwardsToItself` as `add` does, and changes nothing then.
    func replaceUpstream(of id: Int, by addresses: [SocketAddress]) throws(ProxyError) -> [SocketAddress]? {
        let ownHosts = SocketAddress.ownHosts()
        return try state.withLock { state throws(ProxyError) in
            guard var route = state.routes[id]?.route else { return nil }
            route.upstream = try upstream(addresses, of: route.name, listen: route.listen, ownHosts)
            try check(route, state, ownHosts)
            state.routes[id]?.route = route
            ProxyRegistry.assignDuties(state)
            return route.upstream
        }
    }

    private func upstream(
        _ addresses: [SocketAddress],
        of name: String,
        listen: [SocketAddress],
        _ ownHosts: Set<String>
    ) throws(ProxyError) -> [SocketAddress] {
        guard looksAhead else { return addresses }
        let others = addresses.filter { !$0.reaches(any: listen, ownHosts) }
        guard !others.isEmpty else { throw .forwardsToItself([name]) }
        return others
    }

    private func check(_ route: ProxyRoute, _ state: State, _ ownHosts: Set<String>) throws(ProxyError) {
        guard looksAhead else { return }
        if let ring = route.ring(through: state.routes.values.map(\.route), ownHosts: ownHosts) {
            throw .forwardsToItself(ring.map(\.name))
        }
    }

    /// Removes a proxy that accepts no more. Calling it twice is fine.
    func remove(_ id: Int) {
        state.withLock { state in
            state.routes[id] = nil
            ProxyRegistry.assignDuties(state)
        }
    }

    private static func assignDuties(_ state: State) {
        let entries = state.routes.values
        // Clients of Unix-domain sockets have no address.
        let listening = Set(entries.flatMap { $0.route.listen.filter { $0.unix == nil }.map(\.port) })
        let wanted = Set(entries.flatMap { $0.route.upstream.filter { $0.unix == nil }.map(\.port) })
        for (route, duties) in entries {
            let keeps = route.upstream.contains { $0.unix == nil && listening.contains($0.port) }
            duties.keepsFlows.store(keeps, ordering: .relaxed)
            duties.asksForFlows.store(
                route.listen.contains { $0.unix == nil && wanted.contains($0.port) },
                ordering: .relaxed
            )
        }
    }

    /// Calls `connect`, which returns a flow, and keeps its path until `forget`. The lock is held meanwhile, so a proxy that
    /// accepts the connection finds the path.
    func keep(_ path: [Int], of connect: () throws(SystemError) -> Flow?) throws(SystemError) -> Flow? {
        try state.withLock { state throws(SystemError) in
            let flow = try connect()
            if let flow { state.paths[flow] = path }
            return flow
        }
    }

    /// Removes the path of a connection that is over.
    func forget(_ flow: Flow) {
        state.withLock { state in _ = state.paths.removeValue(forKey: flow) }
    }

    /// The numbers of the proxies that a connection has come through; empty for other connections.
    func path(of flow: Flow) -> [Int] { state.withLock { $0.paths[flow] ?? [] } }

    /// The number of kept paths.
    var flowCount: Int { state.withLock { $0.paths.count } }
}

/// The path of one connection through the proxies of this process, kept for its connection to the server.
final class Trail {
    let path: [Int]
    private let registry: ProxyRegistry
    private var flow: Flow?

    /// A trail that reaches the proxy with the number `id` by `path`.
    init(_ path: [Int], to id: Int, in registry: ProxyRegistry) {
        self.path = path + [id]
        self.registry = registry
    }

    /// Keeps the path of the connection that `connect` makes.
    func follow(_ connect: () throws(SystemError) -> Flow?) throws(SystemError) {
        end()
        flow = try registry.keep(path, of: connect)
    }

    /// Removes the path. Calling it twice is fine.
    func end() {
        if let flow { registry.forget(flow) }
        flow = nil
    }
}
