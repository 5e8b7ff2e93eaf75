import EventLoop
import FaultPlan
import ProxyEngine
import TestProtocols
import TestSockets
import Testing
import Units

@testable import FaultProfile

@Suite("Bytes that faults have read")
struct ReadingTests {
    private static let never = Fault(
        name: "http",
        condition: Condition(http: HTTPCondition(path: TextPattern("/never/matches"))),
        kind: .http(.answer(HTTPAnswer(status: 503)))
    )

    private func profile(_ faults: Fault...) -> Profile { Profile(name: "test", faults: faults) }

    /// A server that sends `bytes` behind the first ones that it receives.
    private func server(of bytes: [UInt8]) -> TestServer {
        TestServer { socket in
            _ = try socket.receive(1 << 16)
            try socket.send(bytes)
        }
    }

    @Test(arguments: FirstMessage.all)
    func `pass where they are the first of another protocol, and so does the answer`(message: FirstMessage) async throws
    {
        let server = TestServer { socket in
            // Each side sends behind what it has received.
            if message.isServers { try socket.send(message.bytes) }
            let received = try socket.receive(exactly: message.isServers ? 6 : message.bytes.count)
            try socket.send(received)
        }
        defer { server.stop() }
        try await withProxy(to: server.address, profile(Self.never)) { fixture in
            let client = try fixture.client()
            try await blocking {
                if message.isServers {
                    #expect(try client.receive(exactly: message.bytes.count) == message.bytes)
                }
                let sent = message.isServers ? Array("QUIT\r\n".utf8) : message.bytes
                try client.send(sent)
                #expect(try client.receive(exactly: sent.count) == sent)
            }
            client.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(fixture.journal.rest.map(\.effect.word) == ["isn't HTTP"])
        }
    }

    @Test func `of another protocol are no fault that acted, and are reported once`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(Self.never)) { fixture in
            let hello: [UInt8] = [22, 3, 1, 0, 1, 1]
            for _ in 0..<3 {
                let client = try fixture.client()
                try await blocking {
                    try client.send(hello)
                    #expect(try client.receive(exactly: hello.count) == hello)
                }
                #expect(await fixture.proxy.connections().allSatisfy { $0.faults.isEmpty })
                client.close()
            }
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(fixture.journal.rest.map(\.effect) == [.isNoHTTP(.tls), .isNoHTTP(.tls), .isNoHTTP(.tls)])
            #expect(await fixture.proxy.statistics().faultEvents.isEmpty)
            // A busy machine may be late.
            let reported = fixture.events.rest.filter { if case .late = $0 { false } else { true } }
            #expect(reported == [.streamUnread(.tls)])
        }
    }

    @Test(arguments: ["PING", "GET ", "GET /a"])
    func `are held no longer than is stated where they might become a head`(start: String) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(Self.never)) { fixture in
            let client = try fixture.client()
            let received = try await blocking {
                try client.send(Array(start.utf8))
                return try client.receive(exactly: start.utf8.count)
            }
            #expect(received == Array(start.utf8))
            #expect(try await blocking { try fixture.journal.next() }.effect == .isNoHTTP(.lateHead))
            client.close()
        }
    }

    @Test
    func `of a response that stops in its head are let go`() async throws {
        let hanging = TestServer { socket in
            _ = try socket.receive(1 << 16)
            try socket.send(Array("HTTP/1.1 2".utf8))
            // The client closes.
            _ = try socket.receive(1)
        }
        defer { hanging.stop() }
        try await withProxy(to: hanging.address, profile(Self.never)) { fixture in
            let client = try fixture.client()
            let received = try await blocking {
                try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                return try client.receive(exactly: 10)
            }
            #expect(received == Array("HTTP/1.1 2".utf8))
            client.close()
        }
    }

    @Test
    func `in chunks of one byte are acted at their place, whatever came with them`() async throws {
        let head = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let chunk = Array("1\r\nx\r\n".utf8)
        let count = 100_000
        let bytes = head + (0..<count).flatMap { _ in chunk } + Array("0\r\n\r\n".utf8)
        let server = server(of: bytes)
        defer { server.stop() }
        let place = 70_001
        let corrupt = Fault(
            name: "corrupt",
            stream: .downstream,
            kind: .corrupt(Corrupt(position: .at(ByteCount(Int64(place))), base: .body, bit: 0))
        )
        try await withProxy(to: server.address, profile(corrupt)) { fixture in
            let client = try fixture.client()
            let received = try await blocking {
                try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                return try client.receive(exactly: bytes.count)
            }
            client.close()
            var expected = bytes
            expected[head.count + place * chunk.count + 3] ^= 1
            #expect(isSame(received, as: expected))
        }
    }

    @Test
    func `of interim responses vanish one by one out of many that come together`() async throws {
        let hint = Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8)
        let proceed = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
        let final = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody".utf8)
        let count = 20_000
        let server = server(of: (0..<count).flatMap { _ in hint + proceed } + final)
        defer { server.stop() }
        let drop = Fault(name: "drop", kind: .http(.drop(StatusSelection(103...103))))
        try await withProxy(to: server.address, profile(drop)) { fixture in
            let client = try fixture.client()
            let expected = (0..<count).flatMap { _ in proceed } + final
            let received = try await blocking {
                try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                return try client.receive(exactly: expected.count)
            }
            client.close()
            #expect(isSame(received, as: expected))
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            #expect(fixture.journal.rest.count == count)
        }
    }
}
