import EventLoop
import OperatingSystem
import Synchronization

/// The addresses that a running proxy listens on and forwards to.
struct ProxyRoute: Sendable {
    /// The number of the proxy, unique in the process.
    let id: Int
    let name: String
    var listen: [SocketAddress]
    /// The addresses to forward to, in the order of dialing.
    var upstream: [SocketAddress]

    /// Whether the proxy may forward to an address that `other` listens on.
    func leads(to other: ProxyRoute, ownHosts: Set<SocketAddress>) -> Bool {
        upstream.contains { $0.reaches(any: other.listen, ownHosts) }
    }

    /// A cycle of routes that begins with this one, in order; `nil` if there is none.
    func ring(through others: [ProxyRoute], ownHosts: Set<SocketAddress>) -> [ProxyRoute]? {
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
    fileprivate func reaches(any listeners: [SocketAddress], _ ownHosts: Set<SocketAddress>) -> Bool {
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
    package static let shared = ProxyRegistry()

    private let looksAhead: Bool

    /// An empty registry. Without `looksAhead`, cycles are found by their connections alone.
    package init(looksAhead: Bool = true) {
        self.looksAhead = looksAhead
    }

    /// The work of a proxy for the registry.
    final class LoopDetection: Sendable {
        /// Whether its connections to the upstream are kept in the registry.
        let keepsFlows = Atomic<Bool>(false)
        /// Whether connections that it accepts are looked up there.
        let asksForFlows = Atomic<Bool>(false)
    }

    private struct State {
        var nextID = 1
        var paths: [Flow: [Int]] = [:]
        private var routes: [Int: (route: ProxyRoute, loopDetection: LoopDetection)] = [:]
        /// The proxies that listen on a port, and those that forward to it, so that thousands of proxies start fast.
        private var listening = PortIndex()
        private var wanted = PortIndex()

        func route(_ id: Int) -> ProxyRoute? { routes[id]?.route }

        func mayMeet(_ upstream: [SocketAddress], _ listen: [SocketAddress]) -> Bool {
            upstream.contains { address in
                listening.has(address.port) || listen.contains { $0.port == address.port }
            }
        }

        /// The other proxies, without `leaving`, if the route may be part of a ring: one listens where it forwards to, and
        /// one forwards to where it listens.
        func neighbors(of route: ProxyRoute, without leaving: Set<Int>) -> [ProxyRoute] {
            let isWanted = route.listen.contains { wanted.has($0.port) }
            guard isWanted, mayMeet(route.upstream, []) else { return [] }
            return routes.values.map(\.route).filter { !leaving.contains($0.id) }
        }

        mutating func add(_ route: ProxyRoute, _ loopDetection: LoopDetection) {
            routes[route.id] = (route, loopDetection)
            index(route.id, from: nil, to: route)
        }

        mutating func remove(_ id: Int) {
            guard let route = routes.removeValue(forKey: id)?.route else { return }
            index(id, from: route, to: nil)
        }

        /// Changes a route, if it is there.
        mutating func change(_ id: Int, _ body: (inout ProxyRoute) -> Void) {
            guard let (last, loopDetection) = routes[id] else { return }
            var route = last
            body(&route)
            routes[id] = (route, loopDetection)
            index(id, from: last, to: route)
        }

        /// Says which connections are looked at, of a route and of the others at ports to which its first proxy has come or whose last has
        /// left.
        private mutating func index(_ id: Int, from last: ProxyRoute?, to next: ProxyRoute?) {
            let listeningPorts = listening.move(id, from: last?.listen ?? [], to: next?.listen ?? [])
            let wantedPorts = wanted.move(id, from: last?.upstream ?? [], to: next?.upstream ?? [])
            assignDuties(of: id)
            for port in listeningPorts { for other in wanted[port] { assignDuties(of: other) } }
            for port in wantedPorts { for other in listening[port] { assignDuties(of: other) } }
        }

        private func assignDuties(of id: Int) {
            guard let (route, loopDetection) = routes[id] else { return }
            // Clients of Unix-domain sockets have no address.
            let keeps = route.upstream.contains { $0.unix == nil && listening.has($0.port) }
            let asks = route.listen.contains { $0.unix == nil && wanted.has($0.port) }
            loopDetection.keepsFlows.store(keeps, ordering: .relaxed)
            loopDetection.asksForFlows.store(asks, ordering: .relaxed)
        }
    }

    /// The proxies at each port. Unix-domain sockets have port 0, which nothing else has once it is bound.
    private struct PortIndex {
        private var proxies: [UInt16: Set<Int>] = [:]

        subscript(port: UInt16) -> Set<Int> { proxies[port] ?? [] }

        func has(_ port: UInt16) -> Bool { proxies[port] != nil }

        /// Moves a proxy to the ports of other addresses; returns those to which the first proxy has come, and those whose
        /// last has left.
        mutating func move(_ id: Int, from last: [SocketAddress], to next: [SocketAddress]) -> [UInt16] {
            let (old, new) = (Set(last.map(\.port)), Set(next.map(\.port)))
            var changed: [UInt16] = []
            for port in new.subtracting(old) {
                if !has(port) { changed.append(port) }
                proxies[port, default: []].insert(id)
            }
            for port in old.subtracting(new) {
                proxies[port]?.remove(id)
                guard proxies[port]?.isEmpty == true else { continue }
                proxies[port] = nil
                changed.append(port)
            }
            return changed
        }
    }

    private let state = Mutex(State())

    /// Adds a proxy that is about to listen on `listen`, whose port may be 0. `upstream` may be empty.
    ///
    /// - Parameter leaving: the numbers of proxies that it replaces, which are no part of a ring.
    /// - Returns: its route, without upstream addresses that lead to itself, and which connections it looks at.
    /// - Throws: `ProxyError.forwardsToItself` if no address is left, or if running proxies lead back to it.
    func add(
        _ name: String,
        listen: [SocketAddress],
        upstream: [SocketAddress],
        leaving: Set<Int> = []
    ) throws(ProxyError) -> (route: ProxyRoute, loopDetection: LoopDetection) {
        try state.withLock { state throws(ProxyError) in
            var route = ProxyRoute(id: state.nextID, name: name, listen: listen, upstream: upstream)
            try check(&route, state, without: leaving)
            state.nextID += 1
            let loopDetection = LoopDetection()
            state.add(route, loopDetection)
            return (route, loopDetection)
        }
    }

    /// The proxy has been bound to `addresses`.
    func note(_ id: Int, listensOn addresses: [SocketAddress]) {
        state.withLock { state in state.change(id) { $0.listen = addresses } }
    }

    /// Replaces the upstream addresses of a proxy.
    ///
    /// - Returns: the addresses without those that lead to itself; `nil` if the proxy has been removed.
    /// - Throws: `ProxyError.forwardsToItself` as `add` does, and changes nothing then.
    func replaceUpstream(of id: Int, by addresses: [SocketAddress]) throws(ProxyError) -> [SocketAddress]? {
        try state.withLock { state throws(ProxyError) in
            guard var route = state.route(id) else { return nil }
            route.upstream = addresses
            try check(&route, state)
            let upstream = route.upstream
            state.change(id) { $0.upstream = upstream }
            return upstream
        }
    }

    /// Removes the upstream addresses that lead to the proxy itself.
    ///
    /// - Throws: `ProxyError.forwardsToItself` if none is left, or if running proxies lead back to it.
    private func check(
        _ route: inout ProxyRoute,
        _ state: State,
        without leaving: Set<Int> = []
    ) throws(ProxyError) {
        guard looksAhead, state.mayMeet(route.upstream, route.listen) else { return }
        let (listen, ownHosts) = (route.listen, SocketAddress.ownHosts())
        route.upstream.removeAll { $0.reaches(any: listen, ownHosts) }
        guard !route.upstream.isEmpty else { throw .forwardsToItself([route.name]) }
        let neighbors = state.neighbors(of: route, without: leaving)
        if let ring = route.ring(through: neighbors, ownHosts: ownHosts) {
            throw .forwardsToItself(ring.map(\.name))
        }
    }

    /// Removes a proxy that accepts no more. Calling it twice is fine.
    func remove(_ id: Int) {
        state.withLock { $0.remove(id) }
    }

    /// Whether a proxy accepts connections or is about to.
    func has(_ id: Int) -> Bool { state.withLock { $0.route(id) != nil } }

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

    var flowCount: Int { state.withLock { $0.paths.count } }
}

/// The path of one connection through the proxies of this process, kept for its connection to the server.
final class ForwardingPath {
    let path: [Int]
    private let registry: ProxyRegistry
    private var flow: Flow?

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
