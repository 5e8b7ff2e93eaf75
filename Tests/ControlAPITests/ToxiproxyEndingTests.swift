import EventLoop
import FaultPlan
import TestSockets
import Testing

@testable import ControlAPI

/// Ends of connections, and addresses, as Toxiproxy has them.
@Suite(.timeLimit(.minutes(2))) struct ToxiproxyEndingTests {
    /// The end of a client of a proxy.
    private func end(of proxy: String, _ api: V1Fixture) async throws -> StreamEnding {
        let listen = try #require(Endpoint(try api.proxies.proxy(proxy).state.listen))
        let address = try #require(SocketAddress(numericHost: listen.host, port: listen.port))
        return try await blocking {
            let client = try TestSocket.connected(to: address).get()
            defer { client.close() }
            return client.receiveAll().ending
        }
    }

    private func body(_ name: String, _ more: String = "") -> String {
        #"{"name":"\#(name)","listen":"127.0.0.1:0","upstream":"127.0.0.1:9"\#(more)}"#
    }

    @Test func `a client whose upstream is down gets FIN from a proxy of Toxiproxy's API, and a reset from another`()
        async throws
    {
        try await withV1 { api in
            #expect(try await api.send(.post, "/proxies", body("a")).status == 201)
            #expect(try await api.send(.post, "/populate", "[\(body("b"))]").status == 201)
            #expect(try await api.send(.post, "/v1/proxies", body("c")).status == 201)
            #expect(try await api.send(.post, "/v1/proxies", body("d", #","unreachable":"close""#)).status == 201)
            let wrong = try await api.send(.post, "/v1/proxies", body("e", #","unreachable":"fin""#))
            #expect(wrong.status == 400)
            var ends: [StreamEnding] = []
            for name in ["a", "b", "c", "d"] { ends.append(try await end(of: name, api)) }
            #expect(ends == [.finish, .finish, .reset, .finish])
            let snapshot = try await api.send(.get, "/v1/snapshot")
            let restored = try await api.send(.put, "/v1/snapshot", snapshot.text)
            #expect(restored.status == 200 && restored.text == snapshot.text)
            #expect(try await end(of: "a", api) == .finish)
            #expect(try await end(of: "c", api) == .reset)
        }
    }

    @Test(arguments: [false, true])
    func `removing a timeout toxic ends its connections in strict mode, and those that have lost bytes elsewhere`(
        isStrict: Bool
    ) async throws {
        try await withV1(isStrict: isStrict) { api in
            try await api.create("a")
            let client = try await api.client(of: "a")
            let toxic = #"{"name":"t","type":"timeout","attributes":{"timeout":0}}"#
            #expect(try await api.send(.post, "/proxies/a/toxics", toxic).status == 200)
            #expect(
                try await api.send(.post, "/proxies/a/toxics/t", #"{"attributes":{"timeout":3600000}}"#).status == 200
            )
            #expect(try await api.send(.post, "/reset").status == 204)
            let isEnded = try await blocking {
                client.sendUntilBroken([7])
                return try client.receive(1).isEmpty
            }
            #expect(isEnded == isStrict)
            client.close()
        }
    }

    @Test(arguments: [":5433", "0.0.0.0:5433", "*:5433", "[::]:5433"])
    func `an address without a host is every interface of both families`(text: String) async throws {
        let endpoint = try ListenText.endpoint(text)
        #expect(endpoint == Endpoint(host: "::", port: 5_433))
        #expect(try await ListenText.addresses(endpoint).map(\.host) == ["::", "0.0.0.0"])
        #expect(await ListenText.areSame(text, ":5433"))
    }

    @Test func `the addresses of a name begin with IPv4`() async throws {
        let name = Endpoint(host: "name.test", port: 9)
        let found = ["::1", "127.0.0.1", "::2", "127.0.0.2"].compactMap { SocketAddress(numericHost: $0, port: 9) }
        let addresses = try await ListenText.addresses(name) { _ in found }
        #expect(addresses.map(\.host) == ["127.0.0.1", "127.0.0.2", "::1", "::2"])
    }

    @Test func `an address that is taken is named as it was resolved`() async throws {
        try await withV1 { api in
            let taken = try #require(Endpoint(try await api.create("a").string("listen")))
            let body = #"{"name":"b","listen":"localhost:\#(taken.port)","upstream":"127.0.0.1:9"}"#
            let answer = try await api.send(.post, "/proxies", body)
            #expect(answer.status == 500)
            #expect(answer.string("error") == "listen tcp 127.0.0.1:\(taken.port): bind: address already in use")
        }
    }
}
