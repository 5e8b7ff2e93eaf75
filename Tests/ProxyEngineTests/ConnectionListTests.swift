import EventLoop
import ProxyEngine
import TestSockets
import Testing
import Units

@testable import FaultProfile

/// The list of open connections, their end by number, and the counters of a proxy.
@Suite(.timeLimit(.minutes(5))) struct ConnectionListTests {
    @Test func `open connections are listed in the order of their numbers, with their bytes and faults`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let slow = Fault(name: "slow", stream: .downstream, kind: .latency(Latency(delay: .milliseconds(1))))
        try await withProxy(to: server.address, Profile(name: "slow", faults: [slow])) { fixture in
            let clients = try await fixture.answeredClients(5)
            let list = await fixture.proxy.connections()
            #expect(list.map(\.number) == [1, 2, 3, 4, 5])
            #expect(list.map(\.client?.port) == clients.map { $0.localAddress.port })
            for connection in list {
                #expect(connection.state == .open && connection.age > .zero)
                #expect(connection.upstreamBytes == 1 && connection.downstreamBytes == 1)
                #expect(connection.faults == ["slow"])
            }
            let first = await fixture.proxy.connections(limit: 2)
            #expect(first.map(\.number) == [1, 2])
            let none = await fixture.proxy.connections(limit: 0)
            #expect(none.isEmpty)
            for client in clients { client.close() }
        }
    }

    @Test func `a connection without a server yet dials, and one that a cut has silenced drains`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let wait = Fault(
            name: "wait",
            condition: Condition(connections: .range(1...1)),
            kind: .connect(Connect(how: .delay(.seconds(3_000), jitter: .zero)))
        )
        let cut = Fault(name: "cut", stream: .upstream, kind: .cut(Cut(position: .at(ByteCount(3)), how: .silence)))
        try await withProxy(to: server.address, Profile(name: "both", faults: [wait, cut])) { fixture in
            let clients = try (0..<2).map { _ in try fixture.client() }
            try clients[1].send([1, 2, 3, 4])
            _ = try await blocking { (try fixture.journal.next(), try fixture.journal.next()) }
            let list = await fixture.proxy.connections()
            #expect(list.map(\.state) == [.dialing, .draining])
            #expect(list.map(\.faults) == [["wait"], ["cut"]])
            for client in clients { client.close() }
        }
    }

    @Test(arguments: [true, false]) func `a connection is ended by its number, and no other`(reset: Bool) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(3)
            let isEnded = await fixture.proxy.endConnection(2, reset: reset)
            #expect(isEnded)
            let ending = try await blocking { clients[1].receiveAll().ending }
            #expect(ending == (reset ? .reset : .finish))
            let isEndedAgain = await fixture.proxy.endConnection(2, reset: reset)
            #expect(!isEndedAgain)
            let list = await fixture.proxy.connections()
            #expect(list.map(\.number) == [1, 3])
            for client in [clients[0], clients[2]] {
                try client.send([7])
                let answer = try await blocking { try client.receive(1) }
                #expect(answer == [7])
            }
            for client in clients { client.close() }
        }
    }

    @Test func `bytes that a silence holds are counted, and its event by kind`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let delay = Fault(name: "delay", stream: .upstream, kind: .latency(Latency(delay: .seconds(3_000))))
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            try await fixture.proxy.apply(Profile(name: "delay", faults: [delay]))
            try client.send([1, 2, 3])
            #expect(await fixture.becomes { $0.heldBytes == 3 })
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.upstreamReceived == 4 && statistics.upstreamBytes == 1)
            #expect(statistics.downstreamReceived == 1 && statistics.downstreamBytes == 1)
            #expect(statistics.faultEvents == [delay.kind.name: 1])
            client.close()
        }
    }

    @Test func `an upstream that refuses is counted, and a client beyond a limit`() async throws {
        let (nobody, gone) = TestSocket.refusing()
        defer { nobody.close() }
        let limit = Fault(name: "limit", kind: .connectionLimit(ConnectionLimit(limit: 0, how: .refuse)))
        try await withProxy(to: gone) { fixture in
            let first = try fixture.client()
            #expect(await fixture.becomes { $0.failed == 1 && $0.open == 0 })
            try await fixture.proxy.apply(Profile(name: "limit", faults: [limit]))
            let second = try fixture.client()
            #expect(await fixture.becomes { $0.refused == 1 })
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.accepted == 1 && statistics.failed == 1)
            #expect(statistics.faultEvents == [limit.kind.name: 1])
            first.close()
            second.close()
        }
    }
}
