import DevelopmentCA
import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import HTTPTransport
import ProxyEngine
import Synchronization
import TLSTransport
import TestSockets
import TestStreams
import Testing
import Units

@testable import TLSSessions

/// Two proxies in a row: plain clients ─▶ `near` ─ TLS ─▶ `far` ─▶ a plain server. So both sides of TLS are between them.
struct SecureFixture: Sendable {
    let near: Proxy
    let far: Proxy
    let journal: Shared<[JournalEntry]>
    let events: Shared<[ProxyEvent]>

    func client() throws -> TestSocket { try TestSocket.connected(to: near.address).get() }

    /// What a client gets while it sends `bytes` and then the end.
    func received(sending bytes: [UInt8]) async throws -> (bytes: [UInt8], ending: StreamEnding) {
        try await answer(of: near.address, to: bytes)
    }

    func becomesIdle() async -> Bool { await becomeIdle(near, far) }
}

/// What a client of `address` gets while it sends `bytes` and then the end.
func answer(
    of address: SocketAddress,
    to bytes: [UInt8]
) async throws -> (bytes: [UInt8], ending: StreamEnding) {
    let client = try TestSocket.connected(to: address).get()
    defer { client.close() }
    return try await blocking {
        Thread.detachNewThread {
            client.sendUntilBroken(bytes)
            client.endWriting()
        }
        return client.receiveAll()
    }
}

/// Waits until no connection of two proxies is open; `false` when that takes too long.
func becomeIdle(_ near: Proxy, _ far: Proxy) async -> Bool {
    await eventually { await near.statistics().open + far.statistics().open == 0 }
}

/// The authority of all tests, for the names that the upstreams have.
enum TestAuthority {
    static let shared = Result { try ConstrainedCA(for: ["upstream.test"]) }

    static func acceptor() throws -> ClientAcceptor {
        let authority = try shared.get()
        return ClientAcceptor { try TLSIdentity(authority.identity(for: $0, with: $1)) }
    }

    static func connector(trusting certificate: String? = nil) throws -> UpstreamConnector {
        let certificate = try certificate ?? shared.get().certificate
        return try UpstreamConnector(TLSClientSettings(authorities: Array(certificate.utf8)))
    }
}

extension TestServer {
    /// Sends `bytes` to each client, then ends, when the client has said something.
    static func sending(_ bytes: [UInt8]) -> TestServer {
        TestServer { socket in
            _ = try socket.receive(1)
            socket.sendUntilBroken(bytes)
            socket.endWriting()
            _ = socket.receiveAll()
        }
    }
}

/// Runs `body` on a loop of its own.
func onLoop<Result: Sendable>(
    _ body: @escaping @Sendable (EventLoop) throws -> Result
) async throws -> Result {
    let loops = try EventLoopGroup(count: 1)
    let loop = loops.next()
    let result = try await loop.run { Swift.Result { try body(loop) } }
    await loops.stop()
    return try result.get()
}

/// Runs `body` with the proxies in front of a server. The faults are those of `far`.
func withSecureProxies<Result>(
    to upstream: SocketAddress,
    _ profile: Profile = Profile(name: "plain"),
    upstreamHasTLS: Bool = false,
    near nearProfile: Profile = Profile(name: "near"),
    trusting certificate: String? = nil,
    _ body: (SecureFixture) async throws -> Result
) async throws -> Result {
    let loops = try EventLoopGroup(count: 2)
    let (journal, events) = (Shared<[JournalEntry]>([]), Shared<[ProxyEvent]>([]))
    var far = ProxyConfiguration(
        name: "far",
        listen: Endpoint(host: "127.0.0.1", port: 0, usesTLS: true),
        upstream: Endpoint(host: upstream.host, port: upstream.port, usesTLS: upstreamHasTLS),
        profile: profile,
        seed: 7
    )
    far.tls = ProxyTLS(acceptor: try TestAuthority.acceptor(), connector: try TestAuthority.connector())
    return try await ending(loops) { loops in
        let farProxy = try await Proxy.start(
            far,
            on: loops,
            journal: { entry in journal.update { $0.append(entry) } },
            report: { event in events.update { $0.append(event) } }
        )
        var near = ProxyConfiguration(
            name: "near",
            listen: Endpoint(host: "127.0.0.1", port: 0),
            upstream: Endpoint(host: "127.0.0.1", port: farProxy.address.port, usesTLS: true),
            profile: nearProfile,
            seed: 8
        )
        // By name, because BoringSSL knows no constraints of addresses.
        near.tls = ProxyTLS(connector: try TestAuthority.connector(trusting: certificate), upstreamName: "localhost")
        let nearProxy = try await Proxy.start(near, on: loops, report: { event in events.update { $0.append(event) } })
        let fixture = SecureFixture(near: nearProxy, far: farProxy, journal: journal, events: events)
        return try await ending(fixture, after: body) {
            await nearProxy.stop()
            await farProxy.stop()
        }
    } by: {
        await loops.stop()
    }
}
