import EventLoop
import Synchronization

/// Where a running proxy listens and forwards to.
struct ProxyRoute: Sendable {
    /// The number of the proxy in this process, which no other has.
    let id: Int
    let name: String
    /// The addresses to listen on.
    var listen: [SocketAddress]
    /// The addresses to forward to, in the order in which they are tried.
    var upstream: [SocketAddress]

    /// Whether the proxy may forward to where `other` listens.
    func leads(to other: ProxyRoute, ownHosts: Set<String>) -> Bool {
        upstream.contains { $0.reaches(any: other.listen, ownHosts) }
    }

    /// The routes from this one to itself through others, in their order, beginning with this one; `nil` when there is no
    /// such ring.
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

/// A connection as the two addresses at its ends.
struct Flow: Hashable, Sendable {
    private let source: SocketAddress
    private let destination: SocketAddress

    /// The flow from one address to another, however they are spelled.
    init(from source: SocketAddress, to destination: SocketAddress) {
        self.source = source.canonical
        self.destination = destination.destination
    }
}

/// The proxies of this process, and those of their own connections that another of them, or the same, may accept.
///
/// A proxy whose upstream is where it listens is found before it starts. What can't be seen then, such as an address that
/// the machine gets later, is found when a proxy accepts a connection that one of them has made: with it comes the path of
/// proxies that it has taken, and a path that comes to a proxy a second time is a ring. Nothing is looked up unless the
/// port of some upstream is one on which some proxy listens.
package final class ProxyRegistry: Sendable {
    /// That of the process.
    package static let shared = ProxyRegistry()

    private let looksAhead: Bool

    /// An empty registry; one that doesn't look ahead finds rings by their connections alone.
    package init(looksAhead: Bool = true) {
        self.looksAhead = looksAhead
    }

    /// What a proxy has to do for the others.
    final class Duties: Sendable {
        /// Whether its own connections are to be kept in the registry.
        let keepsFlows = Atomic<Bool>(false)
        /// Whether connections that it accepts may be in the registry.
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
    /// - Returns: its route, without the addresses that would lead to itself, and its duties.
    /// - Throws: `ProxyError.forwardsToItself` when none is left, or others that run lead back to it.
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

    /// Has a proxy forward to `addresses` from here on.
    ///
    /// - Returns: the addresses without those that would lead to itself; `nil` when the proxy accepts no more.
    /// - Throws: `ProxyError.forwardsToItself` as `add` does; nothing has changed then.
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

    /// Takes out a proxy that accepts no more. Calling it twice is fine.
    func remove(_ id: Int) {
        state.withLock { state in
            state.routes[id] = nil
            ProxyRegistry.assignDuties(state)
        }
    }

    private static func assignDuties(_ state: State) {
        let entries = state.routes.values
        // Clients of Unix-domain sockets have no address by which they could be found again.
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

    /// Makes a connection by `connect`, which returns its flow, and keeps its path until `forget`. Nobody asks for a path
    /// meanwhile, so a proxy that accepts the connection finds it.
    func keep(_ path: [Int], of connect: () throws(SystemError) -> Flow?) throws(SystemError) -> Flow? {
        try state.withLock { state throws(SystemError) in
            let flow = try connect()
            if let flow { state.paths[flow] = path }
            return flow
        }
    }

    /// Forgets a connection that is over.
    func forget(_ flow: Flow) {
        state.withLock { state in _ = state.paths.removeValue(forKey: flow) }
    }

    /// The numbers of the proxies that a connection has come through; none where it isn't one of theirs.
    func path(of flow: Flow) -> [Int] { state.withLock { $0.paths[flow] ?? [] } }

    /// The connections whose paths are kept.
    var flowCount: Int { state.withLock { $0.paths.count } }
}

/// The path of one connection through the proxies of this process, up to its own, and its own connection to the server.
final class Trail {
    let path: [Int]
    private let registry: ProxyRegistry
    private var flow: Flow?

    /// A trail in `registry` that comes by `path` to the proxy with the number `id`.
    init(_ path: [Int], to id: Int, in registry: ProxyRegistry) {
        self.path = path + [id]
        self.registry = registry
    }

    /// Keeps the path of a connection that `connect` makes.
    func follow(_ connect: () throws(SystemError) -> Flow?) throws(SystemError) {
        end()
        flow = try registry.keep(path, of: connect)
    }

    /// The connection is over. Calling it twice is fine.
    func end() {
        if let flow { registry.forget(flow) }
        flow = nil
    }
}
