import EventLoop
import FaultProfile
import TestSockets
import Testing
import Units

@testable import ProxyEngine

/// Proxies whose connections would come back to them.
struct RingTests {
    private func route(_ id: Int, _ listen: String, _ upstream: String...) throws -> ProxyRoute {
        func address(_ text: String) throws -> SocketAddress {
            let endpoint = try #require(Endpoint(text))
            return try #require(SocketAddress(numericHost: endpoint.host, port: endpoint.port))
        }
        return ProxyRoute(id: id, name: "\(id)", listen: [try address(listen)], upstream: try upstream.map(address))
    }

    @Test(arguments: [
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.1:80", "127.0.0.1:81", false),
        ("127.0.0.1:80", "127.0.0.2:80", false),
        ("127.0.0.1:80", "0.0.0.0:80", true),
        ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
        ("0.0.0.0:80", "127.0.0.1:80", true),
        ("0.0.0.0:80", "127.9.9.9:80", true),
        ("0.0.0.0:80", "0.0.0.0:80", true),
        ("0.0.0.0:80", "10.1.2.3:80", true),
        ("0.0.0.0:80", "10.1.2.4:80", false),
        ("0.0.0.0:80", "[::1]:80", false),
        ("10.1.2.3:80", "127.0.0.1:80", false),
        ("[::]:80", "[::1]:80", true),
        ("[::]:80", "[0:0:0:0:0:0:0:1]:80", true),
        ("[::]:80", "[fd00::9]:80", true),
        ("[::]:80", "127.0.0.1:80", false),
        ("[::1]:80", "[::]:80", true),
        ("127.0.0.1:0", "127.0.0.1:0", false),
    ])
    func `an upstream that is where a proxy listens is known, however it is written`(
        listen: String,
        upstream: String,
        isItself: Bool
    ) throws {
        let route = try route(1, listen, upstream)
        let own = ["127.0.0.1", "10.1.2.3", "::1", "fd00::9"].compactMap { SocketAddress(numericHost: $0, port: 0) }
        #expect(route.leads(to: route, ownHosts: Set(own)) == isItself)
    }

    @Test func `the addresses of the machine are known`() {
        #expect(SocketAddress.ownHosts().contains(loopback()))
    }

    @Test func `a ring is found through any number of proxies, and a chain is none`() throws {
        let last = try route(3, "127.0.0.1:83", "127.0.0.1:81")
        let others = [
            try route(2, "127.0.0.1:82", "10.0.0.9:82", "127.0.0.1:83"), last,
            try route(4, "127.0.0.1:84", "127.0.0.1:82"),
        ]
        let first = try route(1, "127.0.0.1:81", "127.0.0.1:82")
        #expect(first.ring(through: others, ownHosts: [])?.map(\.id) == [1, 2, 3])
        let chained = try route(1, "127.0.0.1:81", "127.0.0.1:84")
        let end = try route(3, "127.0.0.1:83", "127.0.0.1:80")
        #expect(chained.ring(through: [others[0], end, others[2]], ownHosts: []) == nil)
        // A ring that one doesn't belong to is found by those that do.
        let beside = try route(5, "127.0.0.1:85", "127.0.0.1:81")
        #expect(beside.ring(through: others + [first], ownHosts: []) == nil)
    }

    private func configuration(
        _ name: String,
        listen: SocketAddress,
        upstream: SocketAddress,
        in registry: ProxyRegistry
    ) -> ProxyConfiguration {
        var configuration = ProxyConfiguration(
            name: name,
            listen: Endpoint(host: listen.host, port: listen.port),
            upstream: Endpoint(host: upstream.host, port: upstream.port),
            profile: Profile(name: "plain"),
            seed: 1
        )
        configuration.registry = registry
        return configuration
    }

    private func withLoops(_ body: (EventLoopGroup) async throws -> Void) async throws {
        let loops = try EventLoopGroup(count: 2)
        do { try await body(loops) } catch {
            await loops.stop()
            throw error
        }
        await loops.stop()
    }

    /// An address on which nobody listens, on a host that no other test has: its port can't be taken meanwhile.
    private func free() -> SocketAddress {
        let (socket, address) = TestSocket.refusing()
        socket.close()
        guard let own = SocketAddress(numericHost: "127.7.1.1", port: address.port) else {
            preconditionFailure("a numeric address is always read")
        }
        return own
    }

    @Test func `a proxy that closes a ring isn't started, and one that is stopped is in none`() async throws {
        try await withLoops { loops in
            let registry = ProxyRegistry()
            let address = free()
            let first = try await Proxy.start(
                configuration("first", listen: loopback(), upstream: address, in: registry),
                on: loops
            )
            let second = configuration("second", listen: address, upstream: first.address, in: registry)
            let error = await #expect(throws: ProxyError.forwardsToItself(["second", "first"])) {
                try await Proxy.start(second, on: loops)
            }
            #expect(error?.description.contains("“second”, “first”") == true)
            await first.stop()
            try await Proxy.start(second, on: loops).stop()
        }
    }

    @Test func `a proxy that leaves is part of no ring, and one that stays is`() throws {
        let registry = ProxyRegistry()
        let (a, b) = (loopback(port: 80), loopback(port: 81))
        let first = try registry.add("first", listen: [a], upstream: [b]).route
        #expect(throws: ProxyError.forwardsToItself(["second", "first"])) { () throws in
            _ = try registry.add("second", listen: [b], upstream: [a])
        }
        let second = try registry.add("second", listen: [b], upstream: [a], leaving: [first.id]).route
        #expect(second.upstream == [a])
    }

    @Test func `a proxy forwards to the server that shares its name, and not to itself`() throws {
        let registry = ProxyRegistry()
        let own = loopback(port: 80)
        let server = loopback(port: 80, isIPv6: true)
        let route = try registry.add("proxy", listen: [own], upstream: [server, own]).route
        #expect(route.upstream == [server])
        let error = #expect(throws: ProxyError.self) { () throws in
            _ = try registry.add("proxy", listen: [own], upstream: [own])
        }
        #expect(error == .forwardsToItself(["proxy"]))
    }

    @Test func `a chain of proxies passes bytes, and nothing of it is kept`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withLoops { loops in
            let registry = ProxyRegistry()
            var address = server.address
            var proxies: [Proxy] = []
            for number in 1...3 {
                let chained = configuration("\(number)", listen: loopback(), upstream: address, in: registry)
                proxies.append(try await Proxy.start(chained, on: loops))
                address = proxies[number - 1].address
            }
            let client = try TestSocket.connected(to: address).get()
            let answer = try await blocking {
                try client.send([1, 2, 3])
                return try client.receive(exactly: 3)
            }
            #expect(answer == [1, 2, 3])
            // Those of the third and the second; the first forwards to no proxy.
            #expect(registry.flowCount == 2)
            for proxy in proxies { await proxy.stop() }
            #expect(registry.flowCount == 0)
        }
    }

    @Test(arguments: [1, 2, 3])
    func `a ring that was not seen at the start is found by its connections, and ends there`(length: Int) async throws {
        try await withLoops { loops in
            let registry = ProxyRegistry(looksAhead: false)
            let events = Slot<ProxyEvent>()
            // On an address of the test's own, since another test may be given a port that is free here.
            let entrance = try #require(SocketAddress(numericHost: "127.0.16.\(length)", port: free().port))
            var address = entrance
            var proxies: [Proxy] = []
            for number in (1...length).reversed() {
                let listen = number == 1 ? entrance : loopback()
                let ringed = configuration("\(number)", listen: listen, upstream: address, in: registry)
                proxies.append(try await Proxy.start(ringed, on: loops, report: { events.put($0) }))
                address = proxies[proxies.count - 1].address
            }
            let (ending, event) = try await blocking {
                let client = try TestSocket.connected(to: entrance).get()
                return (client.receiveAll().ending, try events.next())
            }
            #expect(ending == .reset)
            guard case .connectionFromItself = event else {
                Issue.record("\(event)")
                return
            }
            var accepted: UInt64 = 0
            for proxy in proxies { accepted += await proxy.statistics().accepted }
            #expect(accepted == UInt64(length))
            #expect(events.rest.isEmpty)
            for proxy in proxies { await proxy.stop() }
            #expect(registry.flowCount == 0)
        }
    }
}
