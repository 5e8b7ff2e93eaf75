import DevelopmentCA
import EventLoop
import FaultPlan
import Foundation
import ProxyEngine
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Proxies that speak TLS, with faults of both layers.
@Suite(.timeLimit(.minutes(5))) struct SecureProxyTests {
    private static func profile(_ faults: [(StreamSelection, FaultKind)]) -> Profile {
        Profile(
            name: "test",
            faults: faults.enumerated().map { index, fault in
                Fault(name: "fault-\(index + 1)", stream: fault.0, kind: fault.1)
            }
        )
    }

    @Test func `bytes pass both ways, and the end of each`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let bytes = testBytes(3 << 20)
        try await withSecureProxies(to: server.address) { fixture in
            let received = try await fixture.received(sending: bytes)
            #expect(received.bytes == bytes)
            #expect(received.ending == .finish)
            #expect(await fixture.becomesIdle())
            let (near, far) = (await fixture.near.statistics(), await fixture.far.statistics())
            #expect(near.downstreamBytes == Int64(bytes.count))
            // The bytes of the content, counted once.
            #expect(far.downstreamBytes == Int64(bytes.count))
            #expect(far.accepted == 1)
            #expect(fixture.events.value.isEmpty, "\(fixture.events.value)")
        }
    }

    @Test func `a cut is exact in the content, by FIN and by reset`() async throws {
        let bytes = testBytes(1 << 20 + 70_000)
        let server = TestServer.sending(bytes)
        defer { server.stop() }
        var generator = SeededGenerator(seed: 12)
        var offsets = [1, 2, 16_383, 16_384, 16_385, 65_536, 1 << 20]
        while offsets.count < 16 { offsets.append(Int.random(in: 1...bytes.count - 1, using: &generator)) }
        for how in [Cut.Ending.close, .reset] {
            let cut = Cut(position: .inTurn(offsets.map { ByteCount(Int64($0)) }), how: how)
            let profile = SecureProxyTests.profile([(.downstream, .cut(cut))])
            try await withSecureProxies(to: server.address, profile) { fixture in
                for offset in offsets {
                    let client = try fixture.client()
                    let received = try await blocking {
                        try client.send([1])
                        return client.receiveAll()
                    }
                    #expect(received.bytes.count == offset)
                    #expect(received.bytes.elementsEqual(bytes.prefix(offset)))
                    #expect(received.ending == (how == .close ? .finish : .reset))
                    client.close()
                }
                #expect(await fixture.becomesIdle())
                #expect(fixture.journal.value.map(\.offset) == offsets.map { Int64($0) })
            }
        }
    }

    @Test func `an answer to half of an upload arrives, although the upstream resets`() async throws {
        let answer = testBytes(60_000)
        let server = TestServer { socket in
            _ = try socket.receive(1)
            try socket.send(answer + [0])
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        let cut = Cut(position: .at(ByteCount(Int64(answer.count))), how: .reset)
        // Most of the answer waits when sending fails.
        let slow = SlowReader(rate: BitRate(bitsPerSecond: 800_000))
        try await withSecureProxies(
            to: server.address,
            SecureProxyTests.profile([(.downstream, .cut(cut))]),
            near: SecureProxyTests.profile([(.downstream, .slowReader(slow))])
        ) { fixture in
            let received = try await fixture.received(sending: testBytes(8 << 20))
            #expect(received.bytes.count == answer.count)
            #expect(received.bytes == answer)
        }
    }

    @Test func `a profile that comes while the upstream isn't dialed holds for the content`() async throws {
        let bytes = testBytes(100)
        let server = TestServer.sending(bytes)
        defer { server.stop() }
        func cut(at offset: Int64) -> (StreamSelection, FaultKind) {
            (.downstream, .cut(Cut(position: .at(ByteCount(offset)), how: .close)))
        }
        let held = SecureProxyTests.profile([
            (.both, .connect(Connect(how: .delay(.seconds(600), jitter: .zero)))), cut(at: 5),
        ])
        try await withSecureProxies(to: server.address, held) { fixture in
            async let received = fixture.received(sending: [1])
            #expect(await eventually { !fixture.journal.value.isEmpty })
            try await fixture.far.apply(SecureProxyTests.profile([cut(at: 9)]))
            #expect(try await received.bytes.elementsEqual(bytes.prefix(9)))
        }
    }

    @Test func `corrupted content passes TLS`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let corrupt = Corrupt(position: .at(ByteCount(100)))
        let profile = SecureProxyTests.profile([(.downstream, .corrupt(corrupt))])
        try await withSecureProxies(to: server.address, profile) { fixture in
            let client = try fixture.client()
            let bytes = testBytes(1_000)
            let received = try await blocking {
                try client.send(bytes)
                return try client.receive(exactly: bytes.count)
            }
            let changed = bytes.indices.filter { bytes[$0] != received[$0] }
            #expect(changed == [100])
            client.close()
        }
    }

    @Test func `a delay acts on the handshake, and a rate on records`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let latency = Latency(delay: .milliseconds(40))
        try await withSecureProxies(to: server.address, SecureProxyTests.profile([(.both, .latency(latency))])) {
            fixture in
            let clock = ContinuousClock()
            let start = clock.now
            let client = try fixture.client()
            try await blocking {
                try client.send([7])
                #expect(try client.receive(1) == [7])
            }
            // ClientHello and ServerHello, then Finished with the byte, and the byte back: 4 ways of 40 ms.
            #expect(clock.now - start >= .milliseconds(160))
            client.close()
        }
    }

    @Test(arguments: [("HTTP/1.1 400 Bad Request\r\n\r\n", "what came isn't TLS"), (nil, "reset")])
    func `an upstream that speaks no TLS, or resets, gives the client alert 80`(
        answer: String?,
        why: String
    ) async throws {
        let server = TestServer { socket in
            _ = try socket.receive(1)
            // With unread bytes, so by a reset.
            guard let answer else { return socket.close() }
            try socket.send(Array(answer.utf8))
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        try await withSecureProxies(to: server.address, upstreamHasTLS: true) { fixture in
            let client = try fixture.client()
            let received = try await blocking {
                try client.send([1])
                return client.receiveAll()
            }
            #expect(received.bytes.isEmpty)
            client.close()
            #expect(await fixture.becomesIdle())
            let told = fixture.events.value.map { "\($0)" }
            #expect(told.contains { $0.lowercased().contains(why.lowercased()) }, "\(told)")
            #expect(told.contains { $0.contains("INTERNAL_ERROR") || $0.contains("internal_error") }, "\(told)")
        }
    }

    @Test(
        arguments: [
            (["h2"], "h2"), (["h2", "http/1.1"], "http/1.1"), (["http/1.1", "h2"], "http/1.1"), ([], nil),
            (["h2", "http/1.0"], "http/1.0"), (["http/1.0", "http/1.1"], "http/1.1"),
            // Reserved, so that servers ignore it (RFC 8701).
            (["\u{A}\u{A}", "h2"], "h2"), (["spdy/3", "a"], "spdy/3"),
        ]
    )
    func `in front of a server without TLS a client gets HTTP/1, else h2, else what it offers first`(
        offered: [String],
        choice: String?
    ) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withSecureProxies(to: server.address) { fixture in
            let address = fixture.far.address
            try await onLoop { loop in
                let session = try TestAuthority.connector().connect(to: "localhost", offering: offered, on: loop)
                defer { session.cancel() }
                let client = try TestSocket.connected(to: address).get()
                defer { client.close() }
                var records: [UInt8] = []
                session.start { records += $0.withUnsafeBytes { Array($0) } }
                while session.state == .handshaking {
                    try client.send(records)
                    records = []
                    let received = try client.receive(1 << 16)
                    try #require(!received.isEmpty)
                    session.receive(received.span.bytes) { records += $0.withUnsafeBytes { Array($0) } }
                }
                #expect(session.state == .open(protocol: choice))
            }
        }
    }

    @Test func `an upstream that refuses the one protocol that faults leave has a sentence of its own`() async throws {
        let server = TestServer { socket in
            _ = try socket.receive(1)
            // The alert no_application_protocol.
            try socket.send([21, 3, 3, 0, 2, 2, 120])
            _ = socket.receiveAll()
        }
        defer { server.stop() }
        let answer = FaultKind.http(.answer(HTTPAnswer(status: 503)))
        let faults = SecureProxyTests.profile([(.both, answer)])
        // The far proxy passes the alert on, and offers what the near one does.
        try await withSecureProxies(to: server.address, upstreamHasTLS: true, near: faults) { fixture in
            let client = try fixture.client()
            _ = try await blocking {
                try client.send([1])
                return client.receiveAll()
            }
            client.close()
            #expect(await fixture.becomesIdle())
            let told = fixture.events.value.map { "\($0)" }
            #expect(told.filter { $0.contains("because a fault acts on HTTP messages") }.count == 1, "\(told)")
        }
    }

    @Test func `a client that rejects the authority is told of, with its alert`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let other = try ConstrainedCA(for: []).certificate
        try await withSecureProxies(to: server.address, trusting: other) { fixture in
            let client = try fixture.client()
            let received = try await blocking { client.receiveAll() }
            #expect(received.bytes.isEmpty)
            client.close()
            #expect(await fixture.becomesIdle())
            let told = fixture.events.value.map { "\($0)" }
            #expect(told.contains { $0.contains("the client rejects the certificate") }, "\(told)")
            #expect(told.contains { $0.contains("isn't signed by an authority") }, "\(told)")
        }
    }

    @Test(
        arguments: [
            ("unknown_ca", ["doesn't trust", "SSL_CERT_FILE"]),
            ("bad_certificate", ["doesn't trust", "SSL_CERT_FILE", "isn't for the name", "create FILE --for"]),
            ("certificate_unknown", ["doesn't trust", "isn't for the name"]),
            ("certificate_expired", ["its clock", "start Squall again"]),
        ]
    )
    func `the alert of a client has its causes and remedies`(alert: String, parts: [String]) {
        let failure = TLSSessionFailure(alert: alert, description: "")
        let sentence = TLSEvent.clientFailed(.session(failure)).sentence
        for part in [alert, "doesn't trust", "isn't for the name"] + parts {
            #expect(sentence.contains(part) == (part == alert || parts.contains(part)), "\(sentence)")
        }
    }

    @Test func `a port with TLS says so to a client without, and sends garbage away`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withSecureProxies(to: server.address) { fixture in
            let inputs: [(text: String, start: [UInt8])] = [
                ("GET / HTTP/1.1\r\n\r\n", Array("HTTP/1.1 400".utf8)), ("\u{1}\u{2}\u{3}", [21, 3, 3, 0, 2, 2, 10]),
                ("\u{16}\u{3}\u{1}", []), ("\u{16}\u{3}\u{1}\u{0}\u{1}\u{2}", [21, 3, 3, 0, 2, 2, 10]), ("", []),
            ]
            for (text, start) in inputs {
                let client = try TestSocket.connected(to: fixture.far.address).get()
                let received = try await blocking {
                    if !text.isEmpty { try client.send(Array(text.utf8)) }
                    client.endWriting()
                    return client.receiveAll()
                }
                #expect(received.bytes.starts(with: start), "\(text.debugDescription): \(received)")
                client.close()
            }
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `faults come and go on live connections of both layers`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withSecureProxies(to: server.address) { fixture in
            let client = try fixture.client()
            func echo(_ byte: UInt8) async throws {
                try await blocking {
                    try client.send([byte])
                    #expect(try client.receive(1) == [byte])
                }
            }
            try await echo(1)
            let cut = Cut(position: .at(ByteCount(3)), how: .close)
            try await fixture.far.apply(
                SecureProxyTests.profile([
                    (.both, .latency(Latency(delay: .milliseconds(20)))), (.downstream, .cut(cut)),
                ])
            )
            let clock = ContinuousClock()
            let start = clock.now
            try await echo(2)
            #expect(clock.now - start >= .milliseconds(40))
            try await fixture.far.apply(Profile(name: "none"))
            try await echo(3)
            try await echo(4)
            client.close()
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `faults that go before a client is served don't act on its handshake and content`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let held = SecureProxyTests.profile([
            (.both, .connect(Connect(how: .delay(.seconds(3_600), jitter: .zero)))),
            (.both, .tls(.record(ByteCount(1)))),
            (.downstream, .corrupt(Corrupt(position: .at(ByteCount(0))))),
        ])
        try await withSecureProxies(to: server.address, held) { fixture in
            let client = try fixture.client()
            try await blocking { try client.send([1]) }
            #expect(await eventually { await fixture.far.statistics().accepted > 0 })
            try await fixture.far.apply(Profile(name: "none"))
            let echo = try await blocking { try client.receive(1) }
            #expect(echo == [1])
            client.close()
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.value.map(\.effect.word) == ["connects late"])
        }
    }

    @Test func `a proxy without TLS doesn't start with it`() async throws {
        let loops = try EventLoopGroup(count: 1)
        let tls = Endpoint(host: "127.0.0.1", port: 0, usesTLS: true)
        let plain = Endpoint(host: "127.0.0.1", port: 1)
        let upstream = Endpoint(host: "127.0.0.1", port: 1, usesTLS: true)
        for (listen, upstream) in [(tls, plain), (Endpoint(host: "127.0.0.1", port: 0), upstream)] {
            let configuration = ProxyConfiguration(
                name: "x",
                listen: listen,
                upstream: upstream,
                profile: Profile(name: "none"),
                seed: 1
            )
            await #expect(throws: ProxyError.withoutTLS(listen.usesTLS ? listen : upstream)) {
                _ = try await Proxy.start(configuration, on: loops)
            }
        }
        await loops.stop()
    }
}
