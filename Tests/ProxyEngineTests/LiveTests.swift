import FaultPlan
import OperatingSystem
import ProxyEngine
import Synchronization
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Profiles that change while connections live.
@Suite(.timeLimit(.minutes(5))) struct LiveTests {
    @Test func `many changes on busy connections lose no byte`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let isOver = Flag()
            async let answers = withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<20 {
                    let piece = testBytes(20_000, seed: UInt64(number))
                    group.addTask { try await echoes(of: piece, through: fixture, until: isOver) }
                }
                return try await group.reduce(true) { $0 && $1 }
            }
            var random = SeededGenerator(seed: 5)
            for number in 1...20 {
                let change = try await fixture.proxy.apply(Self.randomProfile(&random))
                #expect(change.plan.generation == number + 1)
            }
            // What holds a connection for ever is gone then.
            try await fixture.proxy.apply(Profile([]))
            isOver.isSet.store(true, ordering: .relaxed)
            #expect(try await answers)
            #expect(await fixture.becomesIdle())
        }
    }

    /// Whether to stop, for other threads.
    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    /// Sends `piece` and waits for it to come back, again and again; returns whether it always did, and nothing else.
    private func echoes(of piece: [UInt8], through fixture: Fixture, until isOver: Flag) async throws -> Bool {
        try await blocking {
            let client = try fixture.client()
            defer { client.close() }
            repeat {
                try client.send(piece)
                guard try client.receive(exactly: piece.count) == piece else { return false }
            } while !isOver.isSet.load(ordering: .relaxed)
            client.endWriting()
            return try client.receive(1).isEmpty
        }
    }

    /// Faults that hold bytes and let them go, of every rank, none of which ends a connection.
    private static func randomProfile(_ random: inout SeededGenerator) -> Profile {
        let condition = HTTPCondition(path: nil)
        let faults = [
            Fault(name: "latency", kind: .latency(Latency(delay: .milliseconds(5), jitter: .milliseconds(4)))),
            Fault(name: "rate", kind: .bandwidth(Bandwidth(rate: .bytesPerSecond(5_000_000)))),
            Fault(name: "shared", kind: .bandwidth(Bandwidth(rate: .bytesPerSecond(50_000_000), scope: .proxy))),
            Fault(name: "client", kind: .bandwidth(Bandwidth(rate: .bytesPerSecond(40_000_000), scope: .client))),
            Fault(name: "slice", kind: .slice(Slice(size: ByteCount(5_000), pause: .nanoseconds(100_000)))),
            Fault(name: "loss", kind: .loss(Loss(rate: Probability(0.01) ?? .never, roundTrip: .milliseconds(2)))),
            Fault(name: "silence", condition: Condition(chance: Probability(0.3) ?? .always), kind: silence),
            Fault(name: "trace", kind: .trace(Trace(file: "", opportunities: [0, 0, 0, 1], queue: ByteCount(20_000)))),
            Fault(
                name: "pattern",
                kind: .cut(Cut(position: .pattern(BytePattern(Array("never it is".utf8))), how: .reset))
            ),
            Fault(name: "http", condition: Condition(http: condition), kind: .latency(Latency(delay: .seconds(9)))),
            Fault(name: "late", kind: .cut(Cut(position: .at(ByteCount(1 << 40)), how: .reset))),
            Fault(name: "close", kind: .slowClose(SlowClose(delay: .milliseconds(3)))),
        ]
        return Profile(name: "random", faults: faults.filter { _ in random.nextFraction() < 0.3 })
    }

    private static let silence = FaultKind.outage(Outage(how: .silence))

    @Test func `a connection without a fault gets a rate, another one, and none`() async throws {
        let sent = testBytes(1_000_000)
        let server = TestServer { $0.sendUntilBroken(sent) }
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try fixture.client()
            let first = try await blocking { try client.receive(exactly: 100_000) }
            try await fixture.proxy.apply(Profile([.bandwidth(Bandwidth(rate: .bytesPerSecond(1)))]))
            // What is in the buffers on its way has passed the proxy.
            try await fixture.proxy.apply(Profile([]))
            let rest = try await blocking { client.receiveAll().bytes }
            #expect(first + rest == sent)
        }
    }

    @Test func `an outage that begins ends live connections and refuses others, and its end lets them in`() async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(3)
            try await fixture.proxy.apply(Profile([.outage(Outage(how: .refuse))]))
            for client in clients {
                #expect(try await blocking { client.waitUntilBroken() } == .reset)
                client.close()
            }
            #expect(throws: Errno.self) { try fixture.client() }
            try await fixture.proxy.apply(Profile([]))
            for client in try await fixture.answeredClients(2) { client.close() }
        }
    }

    @Test func `a silence that is gone lets go what it held, and connections that hang connect`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let silence = Profile([Self.silence])
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(2)
            try await fixture.proxy.apply(silence)
            for client in clients { try client.send([2, 3]) }
            // Only a hang for some connections is theirs, and not the listener's.
            let some = Condition(connections: .range(1...9))
            let hang = Fault(name: "hang", condition: some, kind: .connect(Connect(how: .hang)))
            try await fixture.proxy.apply(Profile(name: "hang", faults: silence.faults + [hang]))
            let late = try fixture.client()
            try late.send([4])
            #expect(await fixture.becomes { $0.open == 3 })
            try await fixture.proxy.apply(Profile([]))
            for client in clients {
                #expect(try await blocking { try client.receive(exactly: 2) } == [2, 3])
                client.close()
            }
            #expect(try await blocking { try late.receive(exactly: 1) } == [4])
            late.close()
        }
    }

    @Test func `a wait before the server is connected to ends with its fault`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let delay = Connect(how: .delay(.seconds(3_000), jitter: .zero))
        try await withProxy(to: server.address, Profile([.connect(delay)])) { fixture in
            let client = try fixture.client()
            try client.send([4])
            _ = try await blocking { try fixture.journal.next() }
            try await fixture.proxy.apply(Profile([]))
            #expect(try await blocking { try client.receive(exactly: 1) } == [4])
            client.close()
        }
    }

    @Test func `a cut that is added ends a live connection at its byte`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let sent = testBytes(50_000)
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            try await fixture.proxy.apply(
                Profile([.cut(Cut(position: .at(ByteCount(30_001)), how: .close))], on: .downstream)
            )
            let outcome = try await blocking {
                client.sendUntilBroken(sent)
                return client.receiveAll()
            }
            client.close()
            #expect(outcome.bytes == Array(sent.prefix(30_000)))
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.offset == 30_001 && entry.connection == 1)
        }
    }

    @Test func `idleness counts from the change`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address) { fixture in
            let client = try await fixture.answeredClients(1)[0]
            let start = MonotonicClock.now
            try await fixture.proxy.apply(Profile([.cut(Cut(position: .idle(.milliseconds(150)), how: .close))]))
            #expect(try await blocking { client.receiveAll().ending } == .finish)
            #expect(MonotonicClock.now - start >= .milliseconds(150))
            client.close()
        }
    }

    @Test func `a fault of messages acts on live connections from their next request on, and on new ones`() async throws
    {
        let server = TestServer { socket in
            while let bytes = try? socket.receive(1 << 16), !bytes.isEmpty {
                try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
            }
        }
        defer { server.stop() }
        let answer = HTTPFault.answer(HTTPAnswer(status: 503, fields: [], body: ""))
        func profile(_ path: String) -> Profile {
            let condition = Condition(http: HTTPCondition(path: TextPattern(path)))
            return Profile(name: path, faults: [Fault(name: "answer", condition: condition, kind: .http(answer))])
        }
        try await withProxy(to: server.address, profile("/a")) { fixture in
            let client = try fixture.client()
            #expect(try await status(of: "/b", client) == "200")
            try await fixture.proxy.apply(profile("/b"))
            #expect(try await status(of: "/a", client) == "200")
            #expect(try await status(of: "/b", client) == "503")
            client.close()
            #expect(await fixture.becomesIdle())
            // On this one a request has passed unread.
            try await fixture.proxy.apply(Profile(name: "none"))
            let other = try fixture.client()
            #expect(try await status(of: "/b", other) == "200")
            let fresh = try fixture.client()
            #expect(await fixture.becomes { $0.open == 2 })
            try await fixture.proxy.apply(profile("/b"))
            let counts = await fixture.proxy.statistics()
            #expect(counts.joining == 1 && counts.unread == 0)
            #expect(try await status(of: "/a", other) == "200")
            #expect(await fixture.proxy.statistics().joining == 0)
            #expect(try await status(of: "/b", other) == "503")
            #expect(try await status(of: "/b", fresh) == "503")
            other.close()
            fresh.close()
        }
    }

    @Test func `connections that aren't HTTP are counted as those that a fault of messages doesn't reach`() async throws
    {
        let server = TestServer.echo()
        defer { server.stop() }
        let answer = HTTPFault.answer(HTTPAnswer(status: 503, fields: [], body: ""))
        try await withProxy(to: server.address) { fixture in
            let clients = try await fixture.answeredClients(2)
            try await fixture.proxy.apply(Profile([.http(answer)]))
            #expect(await fixture.proxy.statistics().joining == 2)
            try await blocking {
                for _ in 0..<20 {
                    try clients[0].send([0x17, 3, 3])
                    #expect(try clients[0].receive(exactly: 3) == [0x17, 3, 3])
                }
            }
            let counts = await fixture.proxy.statistics()
            #expect(counts.joining == 1 && counts.unread == 1)
            try await fixture.proxy.apply(Profile([]))
            let none = await fixture.proxy.statistics()
            #expect(none.joining == 0 && none.unread == 0)
            for client in clients { client.close() }
        }
    }

    @Test func `half a head that was held for a fault of messages is let go with it`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let condition = Condition(http: HTTPCondition(method: "PUT"))
        let fault = Fault(name: "slow", condition: condition, kind: .latency(Latency(delay: .seconds(9))))
        try await withProxy(to: server.address, Profile(name: "http", faults: [fault])) { fixture in
            let client = try fixture.client()
            let half = Array("GET / HTTP/1.1\r\nHo".utf8)
            try client.send(half)
            #expect(await fixture.becomes { $0.open == 1 })
            try await fixture.proxy.apply(Profile(name: "none"))
            let (received, time) = try await blocking {
                let start = MonotonicClock.now
                return (try client.receive(exactly: half.count), MonotonicClock.now - start)
            }
            #expect(received == half)
            #expect(time < .seconds(30), "nobody waits for the head, for which 60 s are given")
            client.close()
        }
    }

    private func status(of path: String, _ client: TestSocket) async throws -> String {
        try await blocking {
            try client.send(Array("GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
            var text = ""
            while !text.hasSuffix("\r\n\r\nok"), !(text.contains(" 503 ") && text.hasSuffix("\r\n\r\n")) {
                let bytes = try client.receive(1 << 16)
                if bytes.isEmpty { return "" }
                text += String(decoding: bytes, as: UTF8.self)
            }
            return String(text.dropFirst(9).prefix(3))
        }
    }

    @Test func `a proxy that has stopped takes no profile`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let proxy = try await withProxy(to: server.address) { $0.proxy }
        await #expect(throws: ProxyError.stopped) { try await proxy.apply(Profile([])) }
    }
}
