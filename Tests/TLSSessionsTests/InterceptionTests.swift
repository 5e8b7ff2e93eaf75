import DevelopmentCA
import EventLoop
import FaultPlan
import Foundation
import OperatingSystem
import ProxyEngine
import TLSTransport
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile
@testable import TLSSessions

/// A forward proxy that speaks TLS with some hosts, and passes that of all others.
///
/// A plain client ─▶ `near` ─ TLS ─▶ a tunnel by CONNECT ─▶ `far`, the forward proxy ─ TLS ─▶ `origin` ─▶ a plain server.
/// The certificate of `origin` is of the tests' authority, and `far` has one of its own.
@Suite(.timeLimit(.minutes(5))) struct InterceptionTests {
    private struct Fixture: Sendable {
        let far: Proxy
        let tunnel: TestServer
        let near: Proxy
        let journal: Shared<[JournalEntry]>
        let events: Shared<[ProxyEvent]>

        /// What a client gets that sends `bytes`, by TLS or through the tunnel alone.
        func received(sending bytes: [UInt8], byTLS: Bool = true) async throws -> (bytes: [UInt8], ending: StreamEnding)
        {
            try await answer(of: byTLS ? near.address : tunnel.address, to: bytes)
        }

        func becomesIdle() async -> Bool { await becomeIdle(near, far) }
    }

    /// Runs all of it.
    ///
    /// - Parameters:
    ///   - target: what CONNECT names; every name leads to `origin`.
    ///   - name: what the client sends as SNI, and verifies.
    ///   - isTerminated: whether the client trusts `far` alone, or the origin alone.
    ///   - trusts: whether `far` trusts the origin.
    ///   - connected: called when the target is connected, and before the client's first byte.
    private func withInterception(
        of hosts: [String] = ["upstream.test"],
        target: String = "upstream.test",
        name: String = "upstream.test",
        isTerminated: Bool = true,
        trusts: Bool = true,
        to server: TestServer = .echo(),
        connected: @escaping @Sendable () -> Void = {},
        _ profile: Profile = Profile(name: "plain"),
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let loops = try EventLoopGroup(count: 2)
        let (journal, events) = (Shared<[JournalEntry]>([]), Shared<[ProxyEvent]>([]))
        func configuration(_ name: String, _ upstream: Endpoint, usesTLS: Bool = false) -> ProxyConfiguration {
            let listen = Endpoint(host: "127.0.0.1", port: 0, usesTLS: usesTLS)
            return ProxyConfiguration(
                name: name,
                listen: listen,
                upstream: upstream,
                profile: Profile(name: name),
                seed: 1
            )
        }
        var origin = configuration(
            "origin",
            Endpoint(host: "127.0.0.1", port: server.address.port),
            usesTLS: true
        )
        origin.tls.acceptor = try TestAuthority.acceptor()
        let last = try await Proxy.start(origin, on: loops)
        let own = try ConstrainedCA(for: hosts.map { $0.hasPrefix("*.") ? String($0.dropFirst(2)) : $0 })
        var far = configuration("far", Endpoint(host: "127.0.0.1", port: 1))
        (far.destination, far.profile) = (.requested(ForwardPolicy()), profile)
        let originAddress = last.address
        far.resolve = { endpoint throws(SystemError) in
            endpoint.host.hasSuffix(".test") ? [originAddress] : try await Resolver.resolve(endpoint)
        }
        far.tls = ProxyTLS(
            acceptor: ClientAcceptor { try TLSIdentity(own.identity(for: $0, with: $1)) },
            connector: try TestAuthority.connector(trusting: trusts ? nil : own.certificate),
            intercepted: try hosts.map { try HostPattern(parsing: $0) }
        )
        let farProxy = try await Proxy.start(
            far,
            on: loops,
            journal: { entry in journal.update { $0.append(entry) } },
            report: { event in events.update { $0.append(event) } }
        )
        let tunnel = TestServer.tunnel(through: farProxy.address, to: "\(target):\(originAddress.port)", connected)
        var near = configuration("near", Endpoint(host: "127.0.0.1", port: tunnel.address.port, usesTLS: true))
        let trusted = try isTerminated ? own.certificate : TestAuthority.shared.get().certificate
        near.tls = ProxyTLS(connector: try TestAuthority.connector(trusting: trusted), upstreamName: name)
        let nearProxy = try await Proxy.start(near, on: loops, report: { event in events.update { $0.append(event) } })
        let fixture = Fixture(far: farProxy, tunnel: tunnel, near: nearProxy, journal: journal, events: events)
        try await ending(fixture, after: body) {
            for proxy in [nearProxy, farProxy, last] { await proxy.stop() }
            tunnel.stop()
            server.stop()
            await loops.stop()
        }
    }

    private static func cut(_ offsets: [Int64]) -> Profile {
        let cut = Cut(position: .inTurn(offsets.map { ByteCount($0) }), how: .close)
        return Profile(name: "cut", faults: [Fault(name: "cut", stream: .downstream, kind: .cut(cut))])
    }

    private static let bytes = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    @Test(arguments: [
        (["upstream.test"], "upstream.test", "upstream.test"), (["*.test"], "upstream.test", "upstream.test"),
        // By its address, the name is in the ClientHello.
        (["upstream.test"], "127.0.0.1", "upstream.test"), (["upstream.test"], "127.0.0.1", "localhost"),
        (["127.0.0.1"], "127.0.0.1", "localhost"), (["other.test", "localhost"], "127.0.0.1", "localhost"),
    ])
    func `the content of a named host passes, and that of others untouched`(
        hosts: [String],
        target: String,
        name: String
    ) async throws {
        let isTerminated = try hosts.contains { try HostPattern(parsing: $0).matches(HostName(name)) }
        try await withInterception(of: hosts, target: target, name: name, isTerminated: isTerminated) { fixture in
            let received = try await fixture.received(sending: Self.bytes)
            #expect(received.bytes == Self.bytes)
            #expect(received.ending == .finish)
            #expect(await fixture.becomesIdle())
            let passed = await fixture.far.statistics().downstreamBytes
            // Content is counted once; encrypted bytes are more.
            #expect((passed == Self.bytes.count) == isTerminated)
            #expect(await fixture.far.statistics().accepted == 1)
            #expect(fixture.events.value.isEmpty, "\(fixture.events.value)")
        }
    }

    @Test func `a client that asks a named host for another name passes untouched`() async throws {
        try await withInterception(name: "localhost", isTerminated: false) { fixture in
            let bytes = try await fixture.received(sending: [1, 2, 3]).bytes
            #expect(bytes == [1, 2, 3])
        }
    }

    @Test func `cuts are exact in the content, each connection's in turn`() async throws {
        let offsets: [Int64] = [1, 16_385, 70_000, 650_000]
        try await withInterception(Self.cut(offsets)) { fixture in
            for offset in offsets {
                let received = try await fixture.received(sending: Self.bytes)
                #expect(received.bytes.elementsEqual(Self.bytes.prefix(Int(offset))))
            }
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.value.map(\.offset) == offsets)
            #expect(fixture.journal.value.map(\.connection) == [1, 2, 3, 4])
        }
    }

    @Test func `content without TLS meets the same faults`() async throws {
        let server = TestServer { socket in
            try socket.send(Array("220 ready\r\n".utf8))
            _ = socket.receiveAll()
        }
        // The target is the plain server itself.
        try await withInterception(of: ["127.0.0.1"], target: "127.0.0.1", to: server, Self.cut([4])) { fixture in
            let tunnel = TestServer.tunnel(through: fixture.far.address, to: "127.0.0.1:\(server.address.port)")
            defer { tunnel.stop() }
            let client = try TestSocket.connected(to: tunnel.address).get()
            let received = try await blocking { client.receiveAll() }
            #expect(received.bytes == Array("220 ".utf8))
            client.close()
        }
    }

    @Test func `a delay acts on the handshake`() async throws {
        let latency = Fault(name: "slow", stream: .both, kind: .latency(Latency(delay: .milliseconds(40))))
        try await withInterception(Profile(name: "slow", faults: [latency])) { fixture in
            let clock = ContinuousClock()
            let start = clock.now
            let bytes = try await fixture.received(sending: [7]).bytes
            #expect(bytes == [7])
            #expect(clock.now - start >= .milliseconds(160))
        }
    }

    @Test func `a fault of TLS acts on named hosts alone`() async throws {
        let flaw = Fault(name: "old", stream: .both, kind: .tls(.certificate(.expired)))
        let profile = Profile(name: "old", faults: [flaw])
        try await withInterception(profile) { fixture in
            let bytes = try await fixture.received(sending: [7]).bytes
            #expect(bytes.isEmpty)
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.value.map(\.effect.word) == ["presents"])
        }
        try await withInterception(of: ["other.test"], isTerminated: false, profile) { fixture in
            let bytes = try await fixture.received(sending: [7]).bytes
            #expect(bytes == [7])
            #expect(fixture.journal.value.isEmpty)
        }
    }

    @Test func `faults for a host in the ClientHello act on both layers`() async throws {
        let host = Condition(hosts: [try HostPattern(parsing: "upstream.test")])
        let latency = Latency(delay: .milliseconds(1))
        let cut = Cut(position: .at(ByteCount(5)), how: .close)
        let faults = [
            Fault(name: "slow", stream: .both, condition: host, kind: .latency(latency)),
            Fault(name: "cut", stream: .downstream, condition: host, kind: .cut(cut)),
        ]
        try await withInterception(target: "127.0.0.1", Profile(name: "host", faults: faults)) { fixture in
            let bytes = try await fixture.received(sending: Self.bytes).bytes
            #expect(bytes.count == 5)
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.value.map(\.fault).contains("cut"))
        }
    }

    @Test func `a fault of TLS for a host in the ClientHello acts on it alone`() async throws {
        for (host, isHit) in [("upstream.test", true), ("other.test", false)] {
            let flaw = Fault(
                name: "old",
                stream: .both,
                condition: Condition(hosts: [try HostPattern(parsing: host)]),
                kind: .tls(.certificate(.expired))
            )
            try await withInterception(target: "127.0.0.1", Profile(name: "old", faults: [flaw])) { fixture in
                let bytes = try await fixture.received(sending: [7]).bytes
                #expect(bytes == (isHit ? [] : [7]))
                #expect(await fixture.becomesIdle())
                #expect(fixture.journal.value.map(\.effect.word) == (isHit ? ["presents"] : []))
            }
        }
    }

    @Test func `a profile that comes before the first byte holds for the content`() async throws {
        let (reached, goOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let wait = { @Sendable in
            reached.signal()
            goOn.wait()
        }
        try await withInterception(connected: wait, Self.cut([5])) { fixture in
            async let received = fixture.received(sending: Self.bytes)
            try await blocking { #expect(reached.wait(timeout: .now() + Double(TestSocket.patience)) == .success) }
            let cut = Cut(position: .at(ByteCount(9)), how: .close)
            let later = Fault(name: "later", stream: .downstream, kind: .cut(cut))
            try await fixture.far.apply(Profile(name: "later", faults: [later]))
            goOn.signal()
            #expect(try await received.bytes.count == 9)
        }
    }

    @Test func `an end in front of all content waits for the handshake`() async throws {
        try await withInterception(Self.cut([0])) { fixture in
            let received = try await fixture.received(sending: [7])
            #expect(received.bytes.isEmpty)
            #expect(await fixture.becomesIdle())
            #expect(fixture.journal.value.map(\.effect.word) == ["closes"])
            let told = fixture.events.value.map { "\($0)" }
            #expect(!told.contains { $0.contains("handshake") }, "\(told)")
        }
    }

    @Test func `an origin that isn't trusted gives the client alert 80, and a line`() async throws {
        try await withInterception(trusts: false) { fixture in
            let bytes = try await fixture.received(sending: [7]).bytes
            #expect(bytes.isEmpty)
            #expect(await fixture.becomesIdle())
            let told = fixture.events.value.map { "\($0)" }
            #expect(told.contains { $0.contains("tls:upstream.test:") && $0.contains("isn't signed by") }, "\(told)")
            #expect(told.contains { $0.uppercased().contains("INTERNAL_ERROR") }, "\(told)")
        }
    }
}

extension TestServer {
    /// Passes its clients through a forward proxy to a target, by CONNECT.
    fileprivate static func tunnel(
        through proxy: SocketAddress,
        to target: String,
        _ connected: @escaping @Sendable () -> Void = {}
    ) -> TestServer {
        TestServer { socket in
            let other = try TestSocket.connected(to: proxy).get()
            try other.send(Array("CONNECT \(target) HTTP/1.1\r\n\r\n".utf8))
            let reply = "HTTP/1.1 200 Connection established\r\n\r\n"
            guard try other.receive(exactly: reply.utf8.count) == Array(reply.utf8) else { return socket.interrupt() }
            connected()
            Thread.detachNewThread { pass(other, to: socket) }
            pass(socket, to: other)
        }
    }

    private static func pass(_ source: TestSocket, to sink: TestSocket) {
        while let part = try? source.receive(1 << 16), !part.isEmpty { sink.sendUntilBroken(part) }
        sink.endWriting()
    }
}
