import EventLoop
import FaultPlan
import OperatingSystem
import ProxyEngine
import StreamReading
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// A forward proxy on loopback: clients name their targets.
@Suite(.timeLimit(.minutes(2))) struct ExplicitProxyTests {
    private static let established = Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)

    private func withExplicitProxy<Result>(
        _ profile: Profile = Profile(name: "plain"),
        policy: ForwardPolicy = ForwardPolicy(),
        resolve: (@Sendable (Endpoint) async throws(SystemError) -> [SocketAddress])? = nil,
        _ body: (Fixture, TestServer) async throws -> Result
    ) async throws -> Result {
        let server = TestServer.echo()
        defer { server.stop() }
        return try await withProxy(to: server.address, profile, policy: policy, resolve: resolve) { fixture in
            try await body(fixture, server)
        }
    }

    private func socksRequest(_ address: SocketAddress) -> [UInt8] {
        [5, 1, 0, 1, 127, 0, 0, 1, UInt8(address.port >> 8), UInt8(address.port & 0xFF)]
    }

    /// Everything that a client gets that sends `request` and waits for the end.
    private func response(_ fixture: Fixture, _ request: String) async throws -> String {
        try await blocking {
            let client = try fixture.client()
            try client.send(Array(request.utf8))
            return String(decoding: client.receiveAll().bytes, as: UTF8.self)
        }
    }

    @Test func `a tunnel passes bytes on both ways, and its handshake doesn't count`() async throws {
        try await withExplicitProxy { fixture, server in
            let bytes = testBytes(300_000)
            try await blocking {
                let client = try fixture.client()
                // Some bytes come with the handshake.
                let head = Array("CONNECT \(server.address) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
                try client.send(head + bytes.prefix(1_000))
                #expect(try client.receive(exactly: Self.established.count) == Self.established)
                try client.send(Array(bytes.dropFirst(1_000)))
                client.endWriting()
                #expect(isSame(client.receiveAll().bytes, as: bytes))
            }
            #expect(await fixture.becomesIdle())
            let statistics = await fixture.proxy.statistics()
            #expect(statistics.upstreamBytes == 300_000 && statistics.downstreamBytes == 300_000)
            #expect(statistics.failed == 0)
        }
    }

    @Test(arguments: [0, 1]) func `a SOCKS client may send its messages at once or one by one`(pause: Int) async throws
    {
        try await withExplicitProxy { fixture, server in
            try await blocking {
                let client = try fixture.client()
                let request = socksRequest(server.address)
                if pause == 0 {
                    try client.send([5, 1, 0] + request + [42])
                    #expect(try client.receive(exactly: 2) == [5, 0])
                } else {
                    try client.send([5, 1, 0])
                    #expect(try client.receive(exactly: 2) == [5, 0])
                    for byte in request { try client.send([byte]) }
                }
                #expect(try client.receive(exactly: 10) == [5, 0, 0, 1, 0, 0, 0, 0, 0, 0])
                if pause == 1 { try client.send([42]) }
                #expect(try client.receive(1) == [42])
            }
            #expect(await fixture.proxy.statistics().upstreamBytes == 1)
        }
    }

    @Test func `a cut counts from the first byte after the handshake`() async throws {
        let cut = FaultKind.cut(Cut(position: .at(ByteCount(10)), how: .reset))
        try await withExplicitProxy(Profile([cut], on: .downstream)) { fixture, server in
            try await blocking {
                for early in [true, false] {
                    let client = try fixture.client()
                    let head = Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n".utf8)
                    let bytes = testBytes(100)
                    try client.send(early ? head + bytes : head)
                    #expect(try client.receive(exactly: Self.established.count) == Self.established)
                    if !early { try client.send(bytes) }
                    let (received, ending) = client.receiveAll()
                    #expect(received == Array(bytes.prefix(10)))
                    #expect(ending == .reset)
                }
            }
            #expect(fixture.journal.rest.map(\.offset) == [10, 10])
        }
    }

    @Test func `a cut upstream acts on bytes that came with the handshake`() async throws {
        let cut = FaultKind.cut(Cut(position: .at(ByteCount(5)), how: .close))
        try await withExplicitProxy(Profile([cut], on: .upstream)) { fixture, server in
            try await blocking {
                let client = try fixture.client()
                try client.send(Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n123456789".utf8))
                #expect(try client.receive(exactly: Self.established.count) == Self.established)
                _ = client.receiveAll()
            }
            #expect(fixture.journal.rest.map(\.offset) == [5])
            #expect(await fixture.proxy.statistics().upstreamBytes == 5)
        }
    }

    @Test func `a request in absolute form reaches its server in origin form, and the next one doesn't`() async throws {
        let heads = Slot<String>()
        let server = TestServer { socket in
            var bytes: [UInt8] = []
            // The proxy ends the stream at the second request.
            while case let part = try socket.receive(1 << 16), !part.isEmpty {
                bytes += part
                if String(decoding: bytes, as: UTF8.self).hasSuffix("body") {
                    try socket.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
                }
            }
            heads.put(String(decoding: bytes, as: UTF8.self))
            socket.close()
        }
        defer { server.stop() }
        try await withProxy(to: server.address, policy: ForwardPolicy()) { fixture in
            try await blocking {
                let client = try fixture.client()
                let head = "POST http://\(server.address)/a HTTP/1.1\r\nHost: b\r\nContent-Length: 4\r\n"
                try client.send(Array("\(head)Proxy-Connection: keep-alive\r\n\r\nbo".utf8))
                try client.send(Array("dy".utf8))
                let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
                #expect(try client.receive(exactly: response.utf8.count) == Array(response.utf8))
                try client.send(Array("GET http://other.example/ HTTP/1.1\r\n\r\n".utf8))
                #expect(client.receiveAll().bytes == [])
                let rest = "Content-Length: 4\r\nConnection: close\r\n\r\nbody"
                #expect(try heads.next() == "POST /a HTTP/1.1\r\nHost: \(server.address)\r\n\(rest)")
            }
        }
    }

    @Test func `a client that ends its stream after the request gets the whole response`() async throws {
        let server = TestServer { socket in
            while case let part = try socket.receive(1 << 16), !part.isEmpty {}
            try socket.send(Array("HTTP/1.0 200 OK\r\n\r\nwhole".utf8))
            socket.close()
        }
        defer { server.stop() }
        try await withProxy(to: server.address, policy: ForwardPolicy()) { fixture in
            try await blocking {
                let client = try fixture.client()
                try client.send(Array("GET http://\(server.address)/ HTTP/1.0\r\n\r\n".utf8))
                client.endWriting()
                #expect(client.receiveAll().bytes == Array("HTTP/1.0 200 OK\r\n\r\nwhole".utf8))
            }
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `a client is told of the close that a server doesn't announce, in whatever pieces its response comes`()
        async throws
    {
        let response = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"
        let server = TestServer { socket in
            _ = try socket.receive(1 << 16)
            for byte in response.utf8 { try socket.send([byte]) }
            socket.close()
        }
        defer { server.stop() }
        try await withProxy(to: server.address, policy: ForwardPolicy()) { fixture in
            let got = try await self.response(fixture, "GET http://\(server.address)/ HTTP/1.1\r\n\r\n")
            #expect(got == "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            #expect(await fixture.becomesIdle())
            #expect(await fixture.proxy.statistics().downstreamBytes == Int64(got.utf8.count))
        }
    }

    @Test func `a response that ends in its head reaches the client as far as it came`() async throws {
        let server = TestServer { socket in
            _ = try socket.receive(1 << 16)
            try socket.send(Array("HTTP/1.1 200 OK\r\nContent".utf8))
            socket.close()
        }
        defer { server.stop() }
        try await withProxy(to: server.address, policy: ForwardPolicy()) { fixture in
            let got = try await self.response(fixture, "GET http://\(server.address)/ HTTP/1.1\r\n\r\n")
            #expect(got == "HTTP/1.1 200 OK\r\nContent")
        }
    }

    // MARK: Numbers

    @Test(arguments: [1, 2]) func `only connections that name a target have a number`(threads: Int) async throws {
        let first = Fault(
            name: "cut",
            stream: .downstream,
            condition: Condition(connections: .range(1...2)),
            kind: .cut(Cut(position: .at(ByteCount(10)), how: .reset))
        )
        let server = TestServer.echo()
        defer { server.stop() }
        let profile = Profile(name: "test", faults: [first])
        try await withProxy(to: server.address, profile, threads: threads, policy: ForwardPolicy()) { fixture in
            let file = try await response(fixture, "GET /proxy.pac HTTP/1.0\r\n\r\n")
            #expect(file.contains("\"PROXY \(fixture.proxy.address)\";"))
            _ = try await response(fixture, "nonsense")
            let open = try await blocking {
                try fixture.client().close()
                let open = try fixture.client()
                try open.send([5])
                return open
            }
            try await blocking {
                for count in [10, 10, 50] {
                    let client = try fixture.client()
                    try client.send(Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n".utf8) + testBytes(50))
                    #expect(try client.receive(exactly: Self.established.count) == Self.established)
                    client.endWriting()
                    #expect(client.receiveAll().bytes.count == count)
                }
            }
            #expect(fixture.journal.rest.map(\.connection) == [1, 2])
            // The one in its handshake isn't listed, and can't be ended by a number.
            #expect(await !fixture.proxy.connections().contains { $0.number == 0 })
            #expect(await !fixture.proxy.endConnection(0, reset: true))
            open.close()
        }
    }

    // MARK: Hosts

    /// A cut downstream for hosts that `pattern` matches.
    private func cut(at offset: Int64, for pattern: String) throws -> Fault {
        Fault(
            name: "cut",
            stream: .downstream,
            condition: Condition(hosts: [try HostPattern(parsing: pattern)]),
            kind: .cut(Cut(position: .at(ByteCount(offset)), how: .reset))
        )
    }

    @Test(arguments: [1, 2]) func `a fault for a host leaves others alone`(threads: Int) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let address = server.address
        let profile = Profile(name: "test", faults: [try cut(at: 10, for: "*.cut.example")])
        let resolve = { @Sendable (endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] in
            endpoint.host.hasSuffix(".example") ? [address] : try await Resolver.resolve(endpoint)
        }
        try await withProxy(to: address, profile, threads: threads, policy: ForwardPolicy(), resolve: resolve) {
            (fixture) async throws in
            try await blocking {
                for (host, count) in [
                    ("a.CUT.example", 10), ("cut.example", 50), ("b.cut.example", 10), ("x.example", 50),
                ] {
                    let client = try fixture.client()
                    try client.send(Array("CONNECT \(host):80 HTTP/1.1\r\n\r\n".utf8) + testBytes(50))
                    #expect(try client.receive(exactly: Self.established.count) == Self.established)
                    client.endWriting()
                    #expect(client.receiveAll().bytes.count == count, "\(host)")
                }
            }
            #expect(fixture.journal.rest.map(\.connection) == [1, 3])
        }
    }

    @Test func `a profile that is applied while a connection is open knows its host`() async throws {
        try await withExplicitProxy { fixture, server in
            let client = try await blocking {
                let client = try fixture.client()
                try client.send(Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n1".utf8))
                #expect(try client.receive(exactly: Self.established.count + 1).last == 49)
                return client
            }
            let faults = [try cut(at: 20, for: "127.0.0.1"), try cut(at: 10, for: "other.example")]
            try await fixture.proxy.apply(Profile(name: "test", faults: faults))
            try await blocking {
                try client.send(testBytes(50))
                let (bytes, ending) = client.receiveAll()
                #expect(bytes.count == 19)
                #expect(ending == .reset)
            }
        }
    }

    // MARK: Failures

    @Test func `a target that refuses is told in the client's protocol, and counted`() async throws {
        let (socket, address) = TestSocket.refusing()
        defer { socket.close() }
        try await withExplicitProxy { fixture, _ in
            for line in ["CONNECT \(address)", "GET http://\(address)/"] {
                let text = try await response(fixture, "\(line) HTTP/1.1\r\n\r\n")
                #expect(text.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
                #expect(text.hasSuffix("squall: can't connect to \(address): Connection refused\n"))
            }
            try await blocking {
                let client = try fixture.client()
                try client.send([5, 1, 0] + socksRequest(address))
                #expect(client.receiveAll().bytes == [5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0])
            }
            #expect(await fixture.becomesIdle())
            #expect(await fixture.proxy.statistics().failed == 3)
            let refused = SystemError(call: "connect", code: 111)
            #expect(fixture.events.rest == Array(repeating: .targetUnreachable("\(address)", refused), count: 3))
        }
    }

    @Test func `the address that a name has is what counts`() async throws {
        let resolve = { @Sendable (endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] in
            switch endpoint.host {
            case "metadata.example": return [SocketAddress(numericHost: "169.254.169.254", port: 80)].compactMap(\.self)
            case "missing.example": throw SystemError(call: "getaddrinfo", code: 2)
            default: return try await Resolver.resolve(endpoint)
            }
        }
        try await withExplicitProxy(resolve: resolve) { fixture, _ in
            let forbidden = try await response(fixture, "GET http://metadata.example/ HTTP/1.1\r\n\r\n")
            #expect(forbidden.hasPrefix("HTTP/1.1 403 Forbidden\r\n"))
            #expect(fixture.events.rest == [.targetForbidden("metadata.example:80")])
            let missing = try await response(fixture, "CONNECT missing.example:443 HTTP/1.1\r\n\r\n")
            #expect(missing.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n"))
            #expect(missing.contains("can't find the address of missing.example: "))
        }
    }

    @Test func `a connection that a fault delays is replied to after the delay`() async throws {
        let delay = FaultKind.connect(Connect(how: .delay(.milliseconds(80), jitter: .zero)))
        try await withExplicitProxy(Profile([delay])) { fixture, server in
            try await blocking {
                let time = try duration {
                    let client = try fixture.client()
                    try client.send(Array("CONNECT \(server.address) HTTP/1.1\r\n\r\n".utf8))
                    #expect(try client.receive(exactly: Self.established.count) == Self.established)
                }
                #expect(time >= .milliseconds(80))
            }
            #expect(fixture.journal.rest.map(\.effect) == [.connectsLate])
        }
    }

    @Test func `nobody starts a proxy that anybody could use`() async throws {
        for host in ["0.0.0.0", "::"] {
            let listen = Endpoint(host: host, port: 0)
            await #expect(throws: ProxyError.openToAnybody(listen)) {
                try await withProxy(to: loopback(port: 1), listen: listen, policy: ForwardPolicy()) { _ in }
            }
        }
    }

    @Test func `a client that isn't listed is reset`() async throws {
        let policy = ForwardPolicy(clients: [try AddressRange(parsing: "192.0.2.0/24")])
        try await withExplicitProxy(policy: policy) { fixture, _ in
            try await blocking {
                let client = try fixture.client()
                #expect(client.receiveAll().ending == .reset)
            }
            #expect(fixture.events.rest == [.clientNotAllowed("127.0.0.1")])
            #expect(await fixture.proxy.statistics().refused == 1)
        }
    }

    @Test func `after a wrong password the next answer waits, by HTTP and by SOCKS`() async throws {
        try await withExplicitProxy(policy: ForwardPolicy(password: ProxyPassword("pw"))) { fixture, server in
            // ":no" and ":pw".
            let wrong = "CONNECT \(server.address) HTTP/1.1\r\nProxy-Authorization: Basic Om5v\r\n\r\n"
            let first = try await response(fixture, wrong)
            #expect(first.hasPrefix("HTTP/1.1 407 "))
            try await blocking {
                let time = try duration {
                    let client = try fixture.client()
                    try client.send([5, 1, 2, 1, 0, 2] + Array("pw".utf8) + socksRequest(server.address) + [7])
                    #expect(try client.receive(exactly: 2) == [5, 2])
                    #expect(try client.receive(exactly: 13) == [1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7])
                }
                // Less what passed between the first answer and the second try.
                #expect(time > .milliseconds(300))
            }
        }
    }

    @Test func `garbage does no harm`() async throws {
        try await withExplicitProxy(policy: ForwardPolicy(password: ProxyPassword("pw"))) { fixture, server in
            try await blocking {
                for seed in 0..<500 as Range<UInt64> {
                    let client = try fixture.client()
                    // The proxy may have ended the connection already.
                    try? client.send(testBytes(1 + Int(seed) * 7, seed: seed))
                    client.endWriting()
                    let answer = client.receiveAll().bytes
                    #expect(answer.isEmpty || answer.starts(with: Array("HTTP/1.1 4".utf8)) || answer.count <= 8)
                    client.close()
                }
                let client = try fixture.client()
                try client.send([5, 1, 2, 1, 0, 2] + Array("pw".utf8) + socksRequest(server.address) + [7])
                #expect(try client.receive(exactly: 15) == [5, 2, 1, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 7])
            }
            #expect(await fixture.becomesIdle())
        }
    }
}
