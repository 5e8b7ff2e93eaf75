import EventLoop
import FaultPlan
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

@Suite("HTTP through a proxy")
struct HTTPTests {
    private static let get = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n"
    private static let unavailable = HTTPFault.answer(
        HTTPAnswer(status: 503, fields: [.init(name: "Retry-After", value: "2")], body: "later\n")
    )

    private func profile(_ faults: Fault...) -> Profile { Profile(name: "test", faults: faults) }

    private func http(_ fault: HTTPFault, when condition: HTTPCondition? = nil) -> Fault {
        Fault(name: "http", condition: Condition(http: condition), kind: .http(fault))
    }

    /// A server that answers each request head that it sees with what `answer` makes of its number, from 1.
    private func server(
        seen: Slot<String> = Slot(),
        _ answer: @escaping @Sendable (Int) -> [UInt8]
    ) -> TestServer {
        TestServer { socket in
            var text = ""
            var count = 0
            while let bytes = try? socket.receive(1 << 16), !bytes.isEmpty {
                text += String(decoding: bytes, as: UTF8.self)
                while let end = text.firstRange(of: "\r\n\r\n") {
                    seen.put(String(text[..<end.upperBound]))
                    text.removeSubrange(..<end.upperBound)
                    count += 1
                    try? socket.send(answer(count))
                }
            }
        }
    }

    private static func ok(_ body: [UInt8], _ head: String = "") -> [UInt8] {
        Array("\(head)HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    }

    @Test
    func `an answer in the server's place reaches the client, and the server hears of nothing`() async throws {
        let seen = Slot<String>()
        let server = server(seen: seen) { _ in HTTPTests.ok([]) }
        defer { server.stop() }
        try await withProxy(to: server.address, profile(http(Self.unavailable))) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array(("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n").utf8))
                client.sendUntilBroken([UInt8](repeating: 0x61, count: 100_000))
                return client.receiveAll()
            }
            client.close()
            let text = String(decoding: outcome.bytes, as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 503 Service Unavailable\r\n"))
            #expect(text.contains("\r\nConnection: close\r\nRetry-After: 2\r\nContent-Length: 6\r\n\r\nlater\n"))
            #expect(outcome.ending == .finish)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
            let entries = fixture.journal.rest
            #expect(entries.map(\.effect) == [.answers])
            #expect(entries.first?.place?.request == 1)
            #expect(entries.first?.direction == .upstream)
        }
        #expect(seen.rest.isEmpty)
    }

    @Test
    func `an answer waits for the responses to the requests before it`() async throws {
        let seen = Slot<String>()
        let server = server(seen: seen) { HTTPTests.ok(Array("number \($0)".utf8)) }
        defer { server.stop() }
        let second = HTTPCondition(requests: .range(2...2))
        try await withProxy(to: server.address, profile(http(Self.unavailable, when: second))) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array((Self.get + Self.get + Self.get).utf8))
                return client.receiveAll()
            }
            client.close()
            let text = String(decoding: outcome.bytes, as: UTF8.self)
            #expect(
                text.hasPrefix(String(decoding: HTTPTests.ok(Array("number 1".utf8)), as: UTF8.self) + "HTTP/1.1 503")
            )
            #expect(!text.contains("number 2"))
            #expect(outcome.ending == .finish)
        }
        #expect(seen.rest.count == 1)
    }

    @Test
    func `an answer comes although something that is no HTTP was sent behind its request`() async throws {
        let server = server { HTTPTests.ok(Array("number \($0)".utf8)) }
        defer { server.stop() }
        let second = HTTPCondition(requests: .range(2...2))
        try await withProxy(to: server.address, profile(http(Self.unavailable, when: second))) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array((Self.get + Self.get + "\u{0}\u{1}\r\n\r\n").utf8))
                return client.receiveAll()
            }
            client.close()
            let text = String(decoding: outcome.bytes, as: UTF8.self)
            #expect(
                text.hasPrefix(String(decoding: HTTPTests.ok(Array("number 1".utf8)), as: UTF8.self) + "HTTP/1.1 503")
            )
            #expect(outcome.ending == .finish)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nno size\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\nhello",
    ])
    func `no answer comes into a stream that can't be read, which ends with that of the server`(response: String)
        async throws
    {
        let server = server { _ in Array(response.utf8) }
        defer { server.stop() }
        let second = HTTPCondition(requests: .range(2...2))
        try await withProxy(to: server.address, profile(http(Self.unavailable, when: second))) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array((Self.get + Self.get).utf8))
                return client.receiveAll()
            }
            client.close()
            #expect(String(decoding: outcome.bytes, as: UTF8.self) == response)
            #expect(outcome.ending == .finish)
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    /// A fault that closes the connections that come after one on which the fault of HTTP has acted.
    private var next: Fault {
        let cut = Cut(position: .at(.zero), how: .close)
        return Fault(name: "next", stream: .downstream, condition: Condition(after: "http"), kind: .cut(cut))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\nno size\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nan early end",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
    ])
    func `an answer that isn't given isn't journalled, and nothing comes after it`(response: String) async throws {
        let server = TestServer { socket in
            _ = try socket.receive(exactly: Self.get.utf8.count)
            try socket.send(Array(response.utf8))
        }
        defer { server.stop() }
        let second = HTTPCondition(requests: .range(2...2))
        try await withProxy(to: server.address, profile(http(Self.unavailable, when: second), next)) { fixture in
            for _ in 1...2 {
                let client = try fixture.client()
                let outcome = try await blocking {
                    try client.send(Array((Self.get + Self.get).utf8))
                    return client.receiveAll()
                }
                client.close()
                #expect(String(decoding: outcome.bytes, as: UTF8.self) == response)
            }
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.rest.allSatisfy { $0.effect.reason != nil })
        }
    }

    @Test
    func `what comes after an answer is on when the client has it`() async throws {
        let server = server { _ in HTTPTests.ok([]) }
        defer { server.stop() }
        try await withProxy(to: server.address, profile(http(Self.unavailable), next)) { fixture in
            for isAnswered in [true, false] {
                let client = try fixture.client()
                let bytes = try await blocking {
                    client.sendUntilBroken(Array(Self.get.utf8))
                    return try client.receive(1)
                }
                #expect(bytes.isEmpty == !isAnswered)
                client.close()
            }
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.rest.map(\.effect) == [.answers, .cuts(.close)])
        }
    }

    @Test
    func `a HEAD is answered without content`() async throws {
        let server = server { _ in HTTPTests.ok([]) }
        defer { server.stop() }
        try await withProxy(to: server.address, profile(http(Self.unavailable))) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n".utf8))
                return client.receiveAll()
            }
            client.close()
            #expect(String(decoding: outcome.bytes, as: UTF8.self).hasSuffix("Content-Length: 6\r\n\r\n"))
        }
    }

    @Test
    func `a dropped informational response is lost and the final one is not`() async throws {
        let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 104 Upload Resumption\r\n\r\n"
        let server = server { _ in HTTPTests.ok(Array("body".utf8), hints) }
        defer { server.stop() }
        let drop = http(.drop(StatusSelection(104...104)))
        try await withProxy(to: server.address, profile(drop)) { fixture in
            let client = try fixture.client()
            let expected = HTTPTests.ok(Array("body".utf8), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
            for request in 1...3 as ClosedRange<Int64> {
                let received = try await blocking {
                    try client.send(Array(Self.get.utf8))
                    return try client.receive(exactly: expected.count)
                }
                #expect(received == expected)
                let entry = try await blocking { try fixture.journal.next() }
                #expect(entry.effect == .drops)
                #expect(entry.place?.request == request)
            }
            client.close()
        }
    }

    @Test
    func `each of several responses that come at once is stalled`() async throws {
        let answers = (1...4).flatMap { HTTPTests.ok(Array("number \($0)".utf8)) }
        let server = TestServer { socket in
            _ = try socket.receive(exactly: Self.get.utf8.count * 4)
            try socket.send(answers)
        }
        defer { server.stop() }
        let stall = Fault(
            name: "stall",
            stream: .downstream,
            kind: .stall(Stall(at: .zero, base: .message, duration: .milliseconds(20)))
        )
        try await withProxy(to: server.address, profile(stall)) { fixture in
            let client = try fixture.client()
            let outcome = try await blocking {
                try client.send(Array(String(repeating: Self.get, count: 4).utf8))
                return client.receiveAll()
            }
            #expect(outcome.bytes == answers)
            #expect(outcome.ending == .finish)
            #expect(fixture.journal.rest.map { $0.place?.request } == [1, 2, 3, 4])
        }
    }

    @Test(arguments: [0, 1, 999, 65_536, 1_000_000, 2_999_999])
    func `a cut in the body acts at that byte of a later response as well`(offset: Int) async throws {
        let body = testBytes(3_000_000, seed: 3)
        let server = server { HTTPTests.ok($0 < 3 ? [] : body) }
        defer { server.stop() }
        let cut = Fault(
            name: "cut",
            stream: .downstream,
            condition: Condition(http: HTTPCondition(requests: .range(3...3))),
            kind: .cut(Cut(position: .at(ByteCount(Int64(offset))), how: .reset, base: .body))
        )
        try await withProxy(to: server.address, profile(cut)) { fixture in
            let client = try fixture.client()
            let head = HTTPTests.ok(body).count - body.count
            let outcome = try await blocking {
                for _ in 1...2 {
                    try client.send(Array(Self.get.utf8))
                    _ = try client.receive(exactly: HTTPTests.ok([]).count)
                }
                try client.send(Array(Self.get.utf8))
                return client.receiveAll()
            }
            client.close()
            #expect(outcome.bytes.count == head + offset)
            #expect(outcome.ending == .reset)
            #expect(isSame(Array(outcome.bytes.dropFirst(head)), as: Array(body.prefix(offset))))
        }
    }

    @Test
    func `what isn't HTTP passes untouched while faults wait for messages`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, profile(http(Self.unavailable))) { fixture in
            let client = try fixture.client()
            let sent = testBytes(500_000, seed: 9)
            let received = try await blocking {
                try client.send(Array("EHLO ".utf8))
                // Held until it can't become a request any more.
                try client.send(Array("a\r\n".utf8))
                let first = try client.receive(exactly: 8)
                client.sendUntilBroken(sent)
                return try first + client.receive(exactly: sent.count)
            }
            client.close()
            #expect(isSame(received, as: Array("EHLO a\r\n".utf8) + sent))
            let entry = try await blocking { try fixture.journal.next() }
            #expect(entry.effect == .isNoHTTP(.notHTTP))
            #expect(entry.offset == 0)
        }
    }

    @Test
    func `a head that comes byte by byte is passed on whole, and one that breaks off as it is`() async throws {
        let seen = Slot<String>()
        let server = server(seen: seen) { _ in HTTPTests.ok([]) }
        defer { server.stop() }
        let none = HTTPCondition(path: TextPattern("/none"))
        try await withProxy(to: server.address, profile(http(Self.unavailable, when: none))) { fixture in
            let client = try fixture.client()
            let count = HTTPTests.ok([]).count
            _ = try await blocking {
                for byte in Self.get.utf8 { try client.send([byte]) }
                return try client.receive(exactly: count)
            }
            #expect(try await blocking { try seen.next() } == Self.get)
            client.close()
        }
    }
}
