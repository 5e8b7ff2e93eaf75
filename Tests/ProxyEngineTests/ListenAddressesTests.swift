import EventLoop
import FaultPlan
import Glibc
import OperatingSystem
import ProxyEngine
import TestSockets
import Testing
import Units

@testable import FaultProfile

/// A name to listen on that has several addresses.
@Suite(.timeLimit(.minutes(5))) struct ListenAddressesTests {
    private static let name = "here.test"

    private static func address(_ host: String, port: UInt16 = 0) throws -> SocketAddress {
        try #require(SocketAddress(numericHost: host, port: port))
    }

    /// Runs `body` with a proxy that listens on `addresses`, the addresses of a name.
    private func withProxy(
        on addresses: [SocketAddress],
        _ profile: Profile = Profile(name: "plain"),
        connectionLimit: Int? = nil,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        @Sendable func resolve(_ endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] {
            endpoint.host == Self.name ? addresses : try await Resolver.resolve(endpoint)
        }
        try await ProxyEngineTests.withProxy(
            to: server.address,
            profile,
            listen: Endpoint(host: Self.name, port: 0),
            connectionLimit: connectionLimit,
            resolve: resolve
        ) { fixture in
            try #require(fixture.proxy.addresses.count == addresses.count)
            try await body(fixture)
        }
    }

    private func checkEcho(at address: SocketAddress) async throws {
        let answer = try await blocking {
            let client = try TestSocket.connected(to: address).get()
            defer { client.close() }
            try client.send([1])
            return try client.receive(1)
        }
        #expect(answer == [1], "\(address)")
    }

    @Test func `a proxy listens on each of them, with one port that the system chooses`() async throws {
        // On hosts that no other test has, which may be given the port afterwards.
        let addresses = [try Self.address("127.7.2.1"), try Self.address("127.7.2.2")]
        var bound: [SocketAddress] = []
        try await withProxy(on: addresses) { fixture in
            bound = fixture.proxy.addresses
            #expect(bound.map(\.host) == ["127.7.2.1", "127.7.2.2"])
            #expect(Set(bound.map(\.port)).count == 1 && fixture.proxy.address == bound[0])
            for address in bound { try await checkEcho(at: address) }
            #expect(await fixture.proxy.statistics().accepted == 2)
        }
        for address in bound { #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED) }
    }

    @Test func `an outage refuses at each of them, and its end lets clients in at each`() async throws {
        let addresses = [try Self.address("127.0.0.1"), try Self.address("127.0.0.2")]
        try await withProxy(on: addresses) { fixture in
            try await fixture.proxy.apply(Profile([.outage(Outage(how: .refuse))]))
            for address in fixture.proxy.addresses {
                #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
            }
            try await fixture.proxy.apply(Profile([]))
            for address in fixture.proxy.addresses { try await checkEcho(at: address) }
        }
    }

    @Test func `the limit of connections is one for all of them`() async throws {
        let addresses = [try Self.address("127.0.0.1"), try Self.address("127.0.0.2")]
        try await withProxy(on: addresses, connectionLimit: 1) { fixture in
            let (first, second) = (fixture.proxy.addresses[0], fixture.proxy.addresses[1])
            let kept = try TestSocket.connected(to: first).get()
            let (answer, ending) = try await blocking {
                try kept.send([1])
                let answer = try kept.receive(1)
                return (answer, try TestSocket.connected(to: second).get().receiveAll().ending)
            }
            #expect(answer == [1] && ending == .reset)
            kept.close()
            #expect(await fixture.becomesIdle())
            try await checkEcho(at: second)
        }
    }

    @Test func `clients wait for room at each of them`() async throws {
        let addresses = [try Self.address("127.0.0.1"), try Self.address("127.0.0.2")]
        let limit = FaultKind.connectionLimit(ConnectionLimit(limit: 1, how: .hang))
        try await withProxy(on: addresses, Profile([limit])) { fixture in
            let (first, second) = (fixture.proxy.addresses[0], fixture.proxy.addresses[1])
            let kept = try TestSocket.connected(to: first).get()
            let effect = try await blocking {
                try kept.send([1])
                _ = try kept.receive(exactly: 1)
                let waiting = try [first, second].map { try TestSocket.connected(to: $0).get() }
                for client in waiting { try client.send([2]) }
                let effect = try fixture.journal.next().effect
                kept.close()
                // One after the other, in whatever order they are let in.
                for client in waiting { client.endWriting() }
                for client in waiting where client.receiveAll().bytes != [2] { Issue.record("not let in") }
                return effect
            }
            #expect(effect == .hangs)
            #expect(await fixture.becomes { $0.accepted == 3 && $0.open == 0 })
        }
    }

    @Test func `an address that is taken is an error that names it, and nothing is left open`() async throws {
        let (taken, address) = TestSocket.listening()
        defer { taken.close() }
        let own = try Self.address("127.7.2.3", port: address.port)
        let error = await #expect(throws: ProxyError.self) {
            try await withProxy(on: [own, address]) { _ in }
        }
        guard case .cannotListen(let endpoint, let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(endpoint == Endpoint(host: address.host, port: address.port) && reason.isAddressInUse)
        #expect(TestSocket.errnoOfConnecting(to: own) == ECONNREFUSED)
    }

    @Test func `an address that the machine doesn't have is an error as well`() async throws {
        let foreign = try Self.address("192.0.2.1")
        let error = await #expect(throws: ProxyError.self) {
            try await withProxy(on: [Self.address("127.0.0.1"), foreign]) { _ in }
        }
        guard case .cannotListen(let endpoint, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(endpoint.host == "192.0.2.1")
    }

    @Test func `a port that is free at the first address and never at the others is given up`() async throws {
        let own = try Self.address("127.0.0.1")
        let error = await #expect(throws: ProxyError.self) { try await withProxy(on: [own, own]) { _ in } }
        guard case .cannotListen(_, let reason)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.isAddressInUse)
    }

    @Test func `only a family that is switched off makes an address of loopback missing`() throws {
        let (addressMissing, familyMissing) = (EADDRNOTAVAIL, EAFNOSUPPORT)
        for (host, code, isMissing) in [
            ("::1", addressMissing, true), ("::1", familyMissing, true), ("10.0.0.1", addressMissing, false),
            ("fd00::1", familyMissing, true), ("127.0.0.1", ECONNREFUSED, false),
        ] {
            let error = SystemError(call: "bind", code: code)
            let address = try Self.address(host)
            #expect(error.isFamilyMissing(for: address) == isMissing, "\(host): \(code)")
        }
    }
}
