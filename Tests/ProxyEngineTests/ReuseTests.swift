import FaultProfile
import Glibc
import TestSockets
import Testing
import Units

@testable import EventLoop

/// Sockets to the server that serve one connection after another, see `StreamSocket.rest`.
struct ReuseTests {
    @Test(arguments: [1, 2])
    func `a thousand short connections each get their own bytes, whoever ends first`(_ threads: Int) async throws {
        // The first byte says whether the server ends first.
        let server = TestServer { socket in
            let request = try socket.receive(exactly: 4)
            try socket.send(request)
            if request.first == 0 { _ = socket.receiveAll() }
        }
        defer { server.stop() }
        try await withProxy(to: server.address, threads: threads) { fixture in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        try await blocking {
                            for number in 0..<125 {
                                let request = [UInt8(number % 2), UInt8(worker), UInt8(number), 255]
                                let client = try fixture.client()
                                try client.send(request)
                                #expect(try client.receive(exactly: 4) == request)
                                if number % 2 == 0 { client.endWriting() }
                                let (rest, ending) = client.receiveAll()
                                #expect(rest.isEmpty && ending == .finish)
                                client.close()
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.accepted == 1_000)
            #expect(statistics.upstreamBytes == 4_000)
            #expect(statistics.downstreamBytes == 4_000)
            #expect(fixture.events.rest.isEmpty)
        }
    }

    /// A connection that passes so many bytes each way, and what its end leaves resting.
    static let cases: [(profile: Profile, bytes: Int, resting: Int)] = [
        (Profile(name: "plain"), 4, 1),
        (Profile(name: "plain"), 8 << 10, 1),
        // Its buffers may have grown.
        (Profile(name: "plain"), 64 << 10, 0),
        (Profile([.latency(Latency(delay: .zero))]), 4, 0),
    ]

    @Test(arguments: cases.indices)
    func `the sockets of short connections without faults rest`(_ index: Int) async throws {
        let (profile, bytes, resting) = ReuseTests.cases[index]
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile, threads: 1) { fixture in
            let loop = fixture.loops.loops[0]
            try await loop.run { loop.resting.patience = 3_600_000_000_000 }
            var count = 0
            // Where the machine is busy, the server's kernel may hear of an end too late for the socket to rest.
            for attempt in 0..<20 where attempt == 0 || count < resting {
                try await blocking {
                    let client = try fixture.client()
                    let content = [UInt8](repeating: 9, count: bytes)
                    try client.send(content)
                    #expect(try client.receive(exactly: bytes) == content)
                    client.endWriting()
                    #expect(client.receiveAll().ending == .finish)
                }
                let isIdle = await fixture.becomesIdle()
                #expect(isIdle)
                count = try await loop.run { loop.resting.count }
            }
            #expect(count == resting)
        }
    }

    @Test func `a connection with a fault begins with a socket that nobody has used`() async throws {
        // Every 21st connection has a fault, and the others are plain.
        let fault = Fault(
            name: "late",
            condition: Condition(connections: .every(21)),
            kind: .latency(Latency(delay: .zero))
        )
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, Profile(name: "late", faults: [fault]), threads: 1) { fixture in
            let loop = fixture.loops.loops[0]
            try await loop.run { loop.resting.patience = 3_600_000_000_000 }
            for _ in 0..<20 {
                try await fixture.answeredClients(1)[0].endWriting()
                let isIdle = await fixture.becomesIdle()
                #expect(isIdle)
            }
            let before = try await loop.run { loop.resting.count }
            let late = try await fixture.answeredClients(1)
            let meanwhile = try await loop.run { loop.resting.count }
            #expect(before > 0 && meanwhile == before)
            withExtendedLifetime(late) {}
        }
    }
}
