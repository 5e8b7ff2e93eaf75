import ControlAPI
import EventLoop
import HTTPTypes
import ProxyEngine
import TestSockets
import Testing

/// A proxy of the control server whose clients name their targets.
@Suite(.timeLimit(.minutes(2))) struct ForwardProxyTests {
    private static let loopback = Endpoint(host: "127.0.0.1", port: 0)

    /// Whether a client that names the fixture's server gets its byte back.
    private func isForwarded(_ api: V1Fixture, at address: SocketAddress) async throws -> Bool {
        try await blocking {
            let client = try TestSocket.connected(to: address).get()
            defer { client.close() }
            try client.send(Array("CONNECT \(api.upstream) HTTP/1.1\r\n\r\n".utf8))
            let established = "HTTP/1.1 200 Connection established\r\n\r\n"
            // A reset may overtake the reply.
            guard (try? client.receive(exactly: established.utf8.count)) == Array(established.utf8) else {
                return false
            }
            try? client.send([1])
            return (try? client.receive(1)) == [1]
        }
    }

    @Test func `has its faults changed as those of any proxy`() async throws {
        try await withV1(forwardPolicy: ForwardPolicy()) { api in
            let address = try await api.proxies.beginForward(on: Self.loopback).get()
            let made = try await api.send(.get, "/v1/proxies/forward")
            #expect(made.string("upstream") == "any host" && made.string("listen") == "\(address)")
            #expect(try await isForwarded(api, at: address))
            let cut = #"{"kind":"cut","stream":"downstream","at":"0 B","how":"reset"}"#
            let changed = try await api.send(.put, "/v1/proxies/forward/faults/cut", cut)
            #expect(changed.status < 300, "\(changed.text)")
            #expect(try await !isForwarded(api, at: address))
            let counted = try await api.send(.get, "/v1/proxies/forward")
            #expect(counted.number("faulted.cut") == 1)
        }
    }

    @Test func `comes back from a snapshot, and moves to another address`() async throws {
        try await withV1(forwardPolicy: ForwardPolicy()) { api in
            let address = try await api.proxies.beginForward(on: Self.loopback).get()
            let snapshot = try await api.send(.get, "/v1/snapshot")
            _ = try await api.send(.delete, "/v1/proxies/forward")
            let restored = try await api.send(.put, "/v1/snapshot", snapshot.text)
            #expect(restored.status == 200, "\(restored.text)")
            #expect(try await isForwarded(api, at: address))
            let moved = try await api.proxies.beginForward(on: Endpoint(host: "127.0.7.7", port: 0)).get()
            #expect(moved.host == "127.0.7.7")
            #expect(try await isForwarded(api, at: moved))
        }
    }

    @Test func `isn't made by a server without the option, nor open to other machines, nor in the place of another`()
        async throws
    {
        let body = #"{"name":"a","listen":"0.0.0.0:0","upstream":"any host"}"#
        try await withV1 { api in
            let refused = try await api.send(.post, "/v1/proxies", body)
            #expect(refused.status == 400 && refused.text.contains("--forward-proxy"))
        }
        try await withV1(forwardPolicy: ForwardPolicy()) { api in
            let open = try await api.send(.post, "/v1/proxies", body)
            #expect(open.status == 400 && open.text.contains("other machines could use this proxy"))
            let far = await api.proxies.beginForward(on: Endpoint(host: "0.0.0.0", port: 0))
            #expect(throws: BeginError.self) { try far.get() }
            try await api.create("forward")
            let taken = await api.proxies.beginForward(on: Self.loopback)
            #expect(throws: BeginError.self) { try taken.get() }
        }
    }
}
