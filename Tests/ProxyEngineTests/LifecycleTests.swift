import EventLoop
import FaultPlan
import FaultProfile
import Glibc
import OperatingSystem
import TestSockets
import Testing
import Units

@testable import ProxyEngine

struct LifecycleTests {
    @Test func `five hundred connections at a time are each served`() async throws {
        await #expect(processExitsWith: .success) {
            #expect(ProcessLimits.raiseOpenFiles() > 3_000)
            let server = TestServer(backlog: 1_024) { socket in
                try socket.send(socket.receive(exactly: 4))
                _ = socket.receiveAll()
            }
            let before = openSocketCount()
            try await withProxy(to: server.address) { fixture in
                let clients = try (0..<500).map { _ in try fixture.client() }
                for (number, client) in clients.enumerated() { try client.send(LifecycleTests.bytes(of: number)) }
                for (number, client) in clients.enumerated() {
                    let answer = try client.receive(exactly: 4)
                    #expect(answer == LifecycleTests.bytes(of: number))
                }
                let statistics = await fixture.proxy.statistics()
                #expect(statistics.open == 500)
                #expect(statistics.accepted == 500)
                #expect(statistics.upstreamBytes == 2_000)
                #expect(statistics.downstreamBytes == 2_000)
                for client in clients { client.close() }
                let isIdle = await fixture.becomesIdle()
                #expect(isIdle)
            }
            #expect(openSocketsAfterAll(above: before) == before)
        }
    }

    private static func bytes(of number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255), 0, 1] }

    @Test func `stopping closes every connection and the port, and stopping again is fine`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(8)
            async let first: Void = fixture.proxy.stop()
            async let second: Void = fixture.proxy.stop()
            _ = await (first, second)
            for client in clients { #expect(client.receiveAll().ending == .finish) }
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.open == 0)
            #expect(statistics.accepted == 8)
            guard case .failure(let error) = TestSocket.connected(to: fixture.proxy.address) else {
                Issue.record("the port is still open")
                return
            }
            #expect(error.code == ECONNREFUSED)
        }
    }

    @Test func `a proxy can be started on the port of one that has just stopped with live connections`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let loops = try EventLoopGroup(count: 2)
        var configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: server.address.host, port: server.address.port),
            profile: Profile(name: "plain"),
            seed: 1
        )
        for _ in 0..<20 {
            let proxy = try await Proxy.start(configuration, on: loops)
            configuration.listen = Endpoint(host: "127.0.0.1", port: proxy.address.port)
            let clients = try await blocking {
                let clients = try (0..<4).map { _ in try TestSocket.connected(to: proxy.address).get() }
                for client in clients.dropLast() {
                    try client.send([1])
                    #expect(try client.receive(1) == [1])
                }
                return clients
            }
            await proxy.stop()
            for client in clients {
                _ = client.receiveAll()
                client.close()
            }
        }
        await loops.stop()
    }

    @Test func `a thousand proxies start and stop, and each forwards`() async throws {
        await #expect(processExitsWith: .success) {
            #expect(ProcessLimits.raiseOpenFiles() > 2_000)
            let server = TestServer.echo()
            let before = openSocketCount()
            let loops = try EventLoopGroup(count: 2)
            var proxies: [Proxy] = []
            let configuration = ProxyConfiguration(
                name: "test",
                listen: Endpoint(host: "127.0.0.1", port: 0),
                upstream: Endpoint(host: server.address.host, port: server.address.port),
                profile: Profile(name: "plain"),
                seed: 1
            )
            for _ in 0..<1_000 { proxies.append(try await Proxy.start(configuration, on: loops)) }
            for proxy in proxies {
                let client = try TestSocket.connected(to: proxy.address).get()
                try client.send([1])
                #expect(try client.receive(1) == [1])
                client.close()
            }
            #expect(openSocketCount() >= before + 1_000)
            for proxy in proxies { await proxy.stop() }
            await loops.stop()
            // The sockets are counted, for another process may listen on one of the ports by now.
            #expect(openSocketsAfterAll(above: before) == before)
            server.stop()
        }
    }

    @Test func `loops that end under a proxy close its connections, and it can be stopped afterwards`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(4)
            await fixture.loops.stop()
            for client in clients { #expect(client.receiveAll().ending == .finish) }
            await fixture.proxy.stop()
            let statistics = await fixture.proxy.statistics()
            #expect(statistics == Statistics())
        }
    }

    @Test func `a proxy that nobody holds goes on until its loops end`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let loops = try EventLoopGroup(count: 2)
        let configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: server.address.host, port: server.address.port),
            profile: Profile(
                [.outage(Outage(how: .silence))],
                phases: [Phase("soon", .seconds(3_600)), Phase("later", nil, .refuse)]
            ),
            seed: 1
        )
        let address = try await Proxy.start(configuration, on: loops).address
        let client = try TestSocket.connected(to: address).get()
        await loops.stop()
        #expect(client.receiveAll().bytes.isEmpty)
    }

    @Test func `a proxy on loops that have ended can't be started`() async throws {
        let loops = try EventLoopGroup(count: 1)
        await loops.stop()
        let endpoint = Endpoint(host: "127.0.0.1", port: 0)
        let configuration = ProxyConfiguration(
            name: "test",
            listen: endpoint,
            upstream: endpoint,
            profile: Profile(name: "plain"),
            seed: 1
        )
        await #expect(throws: ProxyError.stopped) { try await Proxy.start(configuration, on: loops) }
    }

    @Test func `an address in use and a name without an address are told with what to do`() async throws {
        let (listener, address) = TestSocket.listening()
        let loops = try EventLoopGroup(count: 1)
        var configuration = ProxyConfiguration(
            name: "test",
            listen: Endpoint(host: address.host, port: address.port),
            upstream: Endpoint(host: "127.0.0.1", port: 1),
            profile: Profile(name: "plain"),
            seed: 1
        )
        let inUse = await #expect(throws: ProxyError.self) { try await Proxy.start(configuration, on: loops) }
        #expect(inUse?.description.contains("stop what has the port, or take another") == true)
        configuration.destination = .upstream(Endpoint(host: "nonexistent.invalid", port: 1))
        let unresolved = await #expect(throws: ProxyError.self) { try await Proxy.start(configuration, on: loops) }
        #expect(unresolved?.description.contains("“nonexistent.invalid”") == true)
        await loops.stop()
        listener.close()
    }

    @Test func `one connection more than the limit is reset and told, and a place that is free again is given`()
        async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, connectionLimit: 2) { fixture in
            let kept = try (0..<2).map { _ in try fixture.client() }
            let refused = try fixture.client()
            let event = try await blocking {
                #expect(refused.receiveAll().ending == .reset)
                return try fixture.events.next()
            }
            #expect(event == .connectionLimitReached(2))
            for client in kept { client.close() }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            let again = try fixture.client()
            let answer = try await blocking {
                try again.send([1])
                return try again.receive(1)
            }
            #expect(answer == [1])
        }
    }

    @Test func `the next address of the upstream is tried when one refuses`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        let loop = try EventLoop()
        let endpoint = Endpoint(host: "127.0.0.1", port: 0)
        let configuration = ProxyConfiguration(
            name: "test",
            listen: endpoint,
            upstream: endpoint,
            profile: Profile(name: "plain"),
            seed: 1
        )
        let events = Slot<ProxyEvent>()
        let context = try ProxyContext(
            configuration,
            listen: [loopback()],
            upstream: [gone, gone, server.address],
            journal: { _ in },
            report: { events.put($0) }
        )
        let plan = Plan(profile: configuration.profile, seed: 1, proxy: "test", start: MonotonicClock.now)
        let address = try await loop.run {
            let shard = LoopBound(Shard(loop: loop, context: context, plan: plan), on: loop)
            let listener = Listener(loop: loop, context: context, plan: plan, shards: [shard])
            return Result { try listener.open([loopback()])[0] }
        }.get()
        let client = try TestSocket.connected(to: address).get()
        let answer = try await blocking {
            try client.send([1])
            return try client.receive(1)
        }
        #expect(answer == [1])
        #expect(events.rest.isEmpty)
        await loop.stop()
    }
}

/// The open sockets of this process, once the threads of its servers have closed their ends, in 5 seconds at most.
private func openSocketsAfterAll(above before: Int) -> Int {
    let deadline = MonotonicClock.now + .seconds(5)
    while openSocketCount() > before, MonotonicClock.now < deadline { sched_yield() }
    return openSocketCount()
}
