import EventLoop
import FaultPlan
import ProxyEngine
import TestProtocols
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Faults for the name in a client's first bytes, on loopback.
@Suite(.timeLimit(.minutes(2))) struct FirstBytesTests {
    /// Records of a ClientHello for `name`, of at most `fragment` bytes, and with `extra` bytes of another extension.
    private func hello(_ name: String, fragment: Int = 1 << 14, extra: Int = 0) -> [UInt8] {
        var hello = HelloText(name)
        if extra > 0 { hello.before.append(HelloText.keyShare(extra)) }
        hello.fragment = fragment
        return hello.bytes
    }

    private func fault(_ kind: FaultKind, on stream: StreamSelection = .both, for host: String) throws -> Fault {
        let condition = Condition(hosts: [try HostPattern(parsing: host)])
        return Fault(name: kind.name.rawValue, stream: stream, condition: condition, kind: kind)
    }

    private func cut(at offset: Int64, on stream: StreamSelection, for host: String = "*.cut.example") throws -> Fault {
        try fault(.cut(Cut(position: .at(ByteCount(offset)), how: .reset)), on: stream, for: host)
    }

    /// Runs a proxy with `faults` in front of an echo server.
    private func withFaults(
        _ faults: [Fault],
        threads: Int = 2,
        policy: ForwardPolicy? = nil,
        _ body: (Fixture, TestServer) async throws -> Void
    ) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let profile = Profile(name: "test", faults: faults)
        try await withProxy(to: server.address, profile, threads: threads, policy: policy) { fixture in
            try await body(fixture, server)
        }
    }

    @Test(arguments: [1, 3]) func `a cut acts on the connections of its host, at its offset`(threads: Int) async throws
    {
        try await withFaults([try cut(at: 30, on: .downstream)], threads: threads) { fixture, _ in
            try await blocking {
                let request = Array("GET / HTTP/1.1\r\nX: y\r\nHost: A.cut.example.:8080\r\n\r\n".utf8)
                let other = Array("GET / HTTP/1.1\r\nHost: cut.example\r\n\r\n".utf8)
                for (bytes, isCut) in [
                    (hello("a.CUT.example"), true), (hello("cut.example"), false), (request, true), (other, false),
                    (hello("a.cut.example", fragment: 20, extra: 1_800), true), (testBytes(300), false),
                ] {
                    let client = try fixture.client()
                    try client.send(bytes)
                    client.endWriting()
                    let (received, ending) = client.receiveAll()
                    #expect(isSame(received, as: isCut ? Array(bytes.prefix(30)) : bytes))
                    #expect(ending == (isCut ? .reset : .finish))
                }
            }
            #expect(fixture.journal.rest.map(\.connection) == [1, 3, 5])
            #expect(fixture.journal.rest.map(\.offset) == [30, 30, 30])
        }
    }

    @Test func `a cut upstream counts from the first byte of the hello, however it is split`() async throws {
        try await withFaults([try cut(at: 5, on: .upstream)]) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                for byte in hello("a.cut.example") { try client.send([byte]) }
                #expect(client.receiveAll().ending == .reset)
            }
            #expect(fixture.journal.rest.map(\.offset) == [5])
            #expect(await fixture.proxy.statistics().upstreamBytes == 5)
        }
    }

    @Test func `a server that speaks first isn't waited for, and other faults act at once`() async throws {
        let greeting = Array("220 ready\r\n".utf8)
        let server = TestServer { socket in
            try socket.send(greeting)
            while case let part = try socket.receive(1 << 16), !part.isEmpty { try socket.send(part) }
            socket.close()
        }
        defer { server.stop() }
        let corrupt = Fault(
            name: "flip",
            stream: .downstream,
            kind: .corrupt(Corrupt(position: .at(ByteCount(0)), bit: 0))
        )
        let profile = Profile(name: "test", faults: [corrupt, try cut(at: 20, on: .downstream)])
        try await withProxy(to: server.address, profile) { fixture in
            try await blocking {
                for (name, count) in [("a.cut.example", 9), ("b.example", 500)] {
                    let client = try fixture.client()
                    let first = try client.receive(exactly: greeting.count)
                    #expect(first == [greeting[0] ^ 1] + greeting.dropFirst())
                    // Offsets count from the greeting on.
                    try client.send(hello(name, extra: 500))
                    client.endWriting()
                    let rest = client.receiveAll().bytes
                    #expect(count == 9 ? rest.count == 9 : rest.count > 500, "\(name)")
                }
            }
        }
    }

    @Test func `half a hello waits for a second, then passes without a name`() async throws {
        try await withFaults([try cut(at: 5, on: .both)]) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                let bytes = hello("a.cut.example")
                let half = Array(bytes.prefix(40))
                try client.send(half)
                var received: [UInt8] = []
                let time = try duration { received = try client.receive(exactly: 40) }
                #expect(received == half)
                #expect(time >= .milliseconds(900))
                try client.send(Array(bytes.dropFirst(40)))
                client.endWriting()
                #expect(isSame(client.receiveAll().bytes, as: Array(bytes.dropFirst(40))))
            }
            #expect(fixture.journal.rest.isEmpty)
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `a client that ends after half a hello isn't held up`() async throws {
        try await withFaults([try cut(at: 5, on: .both)]) { fixture, _ in
            try await blocking {
                for count in [0, 1, 40] {
                    let client = try fixture.client()
                    let half = Array(hello("a.cut.example").prefix(count))
                    if count > 0 { try client.send(half) }
                    client.endWriting()
                    let time = duration { #expect(client.receiveAll().bytes == half) }
                    #expect(time < .milliseconds(900))
                }
                let client = try fixture.client()
                try client.send(Array(hello("a.cut.example").prefix(40)))
                client.resetAtClose()
                client.close()
            }
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `more than 16 KiB without a name pass`() async throws {
        try await withFaults([try cut(at: 5, on: .both)]) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                let bytes = Array("GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 100_000))\r\n".utf8)
                try client.send(bytes)
                client.endWriting()
                #expect(isSame(client.receiveAll().bytes, as: bytes))
            }
        }
    }

    @Test func `a late connection has its bytes wait, and a refused one is reset`() async throws {
        let delay = FaultKind.connect(Connect(how: .delay(.milliseconds(80), jitter: .zero)))
        let refusal = FaultKind.connect(Connect(how: .refuse))
        var faults = [try fault(delay, for: "late.example"), try fault(refusal, for: "no.example")]
        faults[1].name = "refusal"
        try await withFaults(faults) { fixture, _ in
            try await blocking {
                let late = try fixture.client()
                let bytes = hello("late.example")
                try late.send(bytes)
                var received: [UInt8] = []
                let time = try duration { received = try late.receive(exactly: bytes.count) }
                #expect(received == bytes)
                #expect(time >= .milliseconds(75))
                let refused = try fixture.client()
                try refused.send(hello("no.example"))
                #expect(refused.receiveAll().bytes.isEmpty)
                let other = try fixture.client()
                try other.send(hello("other.example"))
                #expect(try other.receive(1) == [22])
            }
            #expect(fixture.journal.rest.map(\.effect) == [.connectsLate, .resets])
            #expect(fixture.journal.rest.map(\.connection) == [1, 2])
        }
    }

    @Test func `a profile that is applied later knows the name, and a removed fault releases the bytes`() async throws {
        let hang = FaultKind.connect(Connect(how: .hang))
        try await withFaults([try fault(hang, for: "a.example")]) { fixture, _ in
            let bytes = hello("a.example")
            let client = try await blocking {
                let client = try fixture.client()
                try client.send(bytes)
                #expect(try fixture.journal.next().effect == .hangs)
                return client
            }
            try await fixture.proxy.apply(
                Profile(name: "next", faults: [try cut(at: Int64(bytes.count) + 3, on: .downstream, for: "a.example")])
            )
            try await blocking {
                try client.send(testBytes(50))
                #expect(client.receiveAll().bytes.count == bytes.count + 3)
            }
        }
    }

    @Test func `a tunnel to an address has the name of its first bytes, besides the address`() async throws {
        let faults = [try cut(at: 30, on: .downstream)]
        try await withFaults(faults, policy: ForwardPolicy()) { fixture, server in
            try await blocking {
                let established = "HTTP/1.1 200 Connection established\r\n\r\n".utf8.count
                for (name, isEarly) in [("a.cut.example", true), ("a.cut.example", false), ("b.example", true)] {
                    let client = try fixture.client()
                    let head = Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n".utf8)
                    let bytes = hello(name)
                    try client.send(isEarly ? head + bytes : head)
                    _ = try client.receive(exactly: established)
                    if !isEarly { try client.send(bytes) }
                    client.endWriting()
                    #expect(client.receiveAll().bytes.count == (name == "b.example" ? bytes.count : 30))
                }
            }
            #expect(fixture.journal.rest.map(\.connection) == [1, 2])
        }
    }

    @Test func `a response in the server's place is for one host`() async throws {
        let answer = FaultKind.http(.answer(HTTPAnswer(status: 503)))
        try await withFaults([try fault(answer, for: "a.example")]) { fixture, _ in
            try await blocking {
                for (host, isAnswered) in [("a.example", true), ("b.example", false)] {
                    let client = try fixture.client()
                    let request = "GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n"
                    try client.send(Array(request.utf8))
                    client.endWriting()
                    let text = String(decoding: client.receiveAll().bytes, as: UTF8.self)
                    #expect(isAnswered ? text.hasPrefix("HTTP/1.1 503 ") : text == request, "\(text)")
                }
            }
        }
    }
}
