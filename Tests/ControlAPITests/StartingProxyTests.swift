import ControlAPI
import EventLoop
import Glibc
import HTTPTypes
import OperatingSystem
import TestSockets
import TestStreams
import Testing

/// Requests while a proxy of another one is still starting, or moving.
@Suite(.timeLimit(.minutes(2))) struct StartingProxyTests {
    /// A name whose lookup waits.
    private struct HeldName: Sendable {
        var text = "held.test"
        let address: SocketAddress
        /// Whether the name is being looked up.
        let isWanted = FirstValue<Void>()
        let isReleased = FirstValue<Void>()

        /// "held.test:41234".
        var place: String { "\(text):\(address.port)" }

        func resolve(_ endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] {
            guard endpoint.host == text else { return try await Resolver.resolve(endpoint) }
            isWanted.resolve(())
            await isReleased.value
            return [address]
        }
    }

    /// An address on which nobody listens, on a host that no other test has.
    private func free() throws -> SocketAddress {
        let (socket, address) = TestSocket.refusing()
        socket.close()
        return try #require(SocketAddress(numericHost: "127.0.21.1", port: address.port))
    }

    /// A definition, which both APIs take.
    private func proxy(_ name: String, _ listen: String, _ api: V1Fixture) -> String {
        #"{"name":"\#(name)","listen":"\#(listen)","upstream":"\#(api.upstream)"}"#
    }

    /// Goes on when tasks that wait for nothing but each other have had their turns.
    private func yield() async { for _ in 0..<10_000 { await Task.yield() } }

    @Test func `a change of a proxy that can't start finds none, and starts nothing`() async throws {
        let (taken, address) = TestSocket.listening()
        let name = HeldName(address: address)
        try await withV1(resolve: name.resolve) { api in
            let other = try free()
            async let creating = api.send(.post, "/v1/proxies", proxy("a", name.place, api))
            await name.isWanted.value
            async let changing = api.send(.patch, "/v1/proxies/a", #"{"listen":"\#(other)","enabled":true}"#)
            await yield()
            name.isReleased.resolve(())
            let (created, changed) = try await (creating, changing)
            #expect(created.status == 409 && created.string("code") == "cannot-listen", "\(created.text)")
            #expect(changed.status == 404 && changed.string("code") == "proxy-not-found", "\(changed.text)")
            #expect(TestSocket.errnoOfBinding(other) == 0, "a proxy that nobody finds listens")
        }
        taken.close()
    }

    @Test(arguments: ["/populate", "/v1/populate"])
    func `a list with a proxy that is starting waits until it listens`(path: String) async throws {
        let name = HeldName(address: try free())
        try await withV1(resolve: name.resolve) { api in
            let definition = proxy("a", name.place, api)
            async let creating = api.send(.post, "/proxies", definition)
            await name.isWanted.value
            let listing = Task {
                let answer = try await api.send(.post, path, "[\(definition)]")
                return (answer, TestSocket.errnoOfConnecting(to: name.address))
            }
            await yield()
            name.isReleased.resolve(())
            let (answer, code) = try await listing.value
            let created = try await creating
            #expect(answer.status == 201 && answer.flag("proxies.0.enabled") == true, "\(answer.text)")
            #expect(code == 0 && created.status == 201)
        }
    }

    @Test func `a name whose proxy can't start is free for another request`() async throws {
        let (taken, address) = TestSocket.listening()
        let name = HeldName(address: address)
        try await withV1(resolve: name.resolve) { api in
            async let first = api.send(.post, "/v1/proxies", proxy("a", name.place, api))
            await name.isWanted.value
            async let second = api.send(.post, "/v1/proxies", proxy("a", "127.0.0.1:0", api))
            await yield()
            name.isReleased.resolve(())
            let (refused, made) = try await (first, second)
            #expect(refused.string("code") == "cannot-listen", "\(refused.text)")
            #expect(made.status == 201, "\(made.text)")
            #expect(try await api.send(.post, "/v1/proxies", proxy("a", "127.0.0.1:0", api)).status == 409)
        }
        taken.close()
    }

    @Test func `a lookup for a list delays no other change, no snapshot and no removal`() async throws {
        let name = HeldName(address: try free())
        try await withV1(resolve: name.resolve) { api in
            for proxy in ["a", "b"] { try await api.create(proxy) }
            async let moving = api.send(.post, "/populate", "[\(proxy("a", name.place, api))]")
            await name.isWanted.value
            let added = try await api.send(.put, "/v1/proxies/b/faults/late", #"{"kind":"latency","delay":"1 ms"}"#)
            #expect(added.status == 200)
            // What a state file has of the change.
            #expect(await api.v1.snapshotText.contains("late"))
            #expect(try await api.send(.delete, "/v1/proxies/b").status == 204)
            name.isReleased.resolve(())
            let moved = try await moving
            #expect(moved.status == 201, "\(moved.text)")
            #expect(try await api.send(.get, "/v1/proxies").list("proxies", "name") == ["a"])
        }
    }

    @Test func `a request for a name that is taken waits for no change of its proxy`() async throws {
        let name = HeldName(address: try free())
        try await withV1(resolve: name.resolve) { api in
            let listen = try await api.create("a").string("listen")
            async let moving = api.send(.patch, "/v1/proxies/a", #"{"listen":"\#(name.place)"}"#)
            await name.isWanted.value
            for path in ["/v1/proxies", "/proxies"] {
                let refused = try await api.send(.post, path, proxy("a", "127.0.0.1:0", api))
                #expect(refused.status == 409, "\(refused.text)")
            }
            let listed = try await api.send(.post, "/populate", "[\(proxy("a", listen, api))]")
            #expect(listed.status == 201, "\(listed.text)")
            name.isReleased.resolve(())
            #expect(try await moving.status == 200)
        }
    }

    /// The end of a request that restores proxies.
    private func restore(_ proxies: String..., in api: V1Fixture) async throws -> V1Answer {
        try await api.send(.put, "/v1/snapshot", #"{"proxies":[\#(proxies.joined(separator: ","))],"profiles":{}}"#)
    }

    @Test(arguments: [false, true])
    func `a snapshot decides whether a proxy is enabled that is still starting`(isEnabled: Bool) async throws {
        let name = HeldName(address: try free())
        try await withV1(resolve: name.resolve) { api in
            let definition = proxy("a", name.place, api)
            async let creating = api.send(.post, "/v1/proxies", definition)
            await name.isWanted.value
            #expect(await !api.v1.snapshotText.contains(name.place))
            let wanted = #"\#(definition.dropLast()),"enabled":\#(isEnabled)}"#
            let restoring = Task { try await restore(wanted, in: api) }
            await yield()
            name.isReleased.resolve(())
            let (created, restored) = try await (creating, restoring.value)
            #expect(created.status == 201 && restored.status == 200, "\(created.text) \(restored.text)")
            #expect(restored.list("proxies", "name") == ["a"] && restored.flag("proxies.0.enabled") == isEnabled)
            #expect(TestSocket.errnoOfConnecting(to: name.address) == (isEnabled ? 0 : ECONNREFUSED))
        }
    }

    @Test func `a snapshot has the last word on where a proxy listens that is moving`() async throws {
        let (place, name) = (try free(), HeldName(address: try free()))
        try await withV1(resolve: name.resolve) { api in
            let definition = proxy("a", "\(place)", api)
            #expect(try await api.send(.post, "/v1/proxies", definition).status == 201)
            async let moving = api.send(.patch, "/v1/proxies/a", #"{"listen":"\#(name.place)"}"#)
            await name.isWanted.value
            let restoring = Task { try await restore(definition, in: api) }
            await yield()
            name.isReleased.resolve(())
            let (moved, restored) = try await (moving, restoring.value)
            #expect(moved.status == 200 && restored.status == 200, "\(moved.text) \(restored.text)")
            #expect(restored.list("proxies", "listen") == ["\(place)"], "\(restored.text)")
            #expect(TestSocket.errnoOfConnecting(to: place) == 0)
        }
    }

    @Test func `a lookup for a proxy that a snapshot keeps delays no other snapshot`() async throws {
        let (name, other) = (HeldName(address: try free()), HeldName(text: "other.test", address: try free()))
        let resolve = { @Sendable (endpoint: Endpoint) async throws(SystemError) -> [SocketAddress] in
            try await endpoint.host == other.text ? other.resolve(endpoint) : name.resolve(endpoint)
        }
        try await withV1(resolve: resolve) { api in
            let kept = try await api.create("a").string("listen")
            async let restoring = restore(proxy("a", kept, api), proxy("c", name.place, api), in: api)
            await name.isWanted.value
            async let moving = api.send(.patch, "/v1/proxies/a", #"{"listen":"\#(other.place)"}"#)
            await other.isWanted.value
            name.isReleased.resolve(())
            #expect(await eventually { TestSocket.errnoOfConnecting(to: name.address) == 0 })
            await yield()
            #expect(await api.v1.snapshotText.contains(kept))
            other.isReleased.resolve(())
            let (restored, moved) = try await (restoring, moving)
            #expect(restored.status == 200 && moved.status == 200, "\(restored.text) \(moved.text)")
        }
    }

    @Test func `a proxy that is removed while a snapshot keeps it stays removed`() async throws {
        let name = HeldName(address: try free())
        try await withV1(resolve: name.resolve) { api in
            let kept = try await api.create("a").string("listen")
            let proxies = "\(proxy("a", kept, api)),\(proxy("c", name.place, api))"
            async let restoring = api.send(.put, "/v1/snapshot", #"{"proxies":[\#(proxies)],"profiles":{}}"#)
            await name.isWanted.value
            #expect(try await api.send(.delete, "/v1/proxies/a").status == 204)
            name.isReleased.resolve(())
            let restored = try await restoring
            #expect(restored.status == 200, "\(restored.text)")
            #expect(try await api.send(.get, "/v1/proxies").list("proxies", "name") == ["c"])
        }
    }

    @Test func `a change of a proxy of a Unix-domain socket makes no connection, and a refused one ends nothing`()
        async throws
    {
        try await withV1 { api in
            let folder = try Folder()
            let place = "unix:\(folder.file("s"))"
            let listen = try #require(Endpoint(place)?.unix)
            let made = try await api.send(.post, "/v1/proxies", proxy("a", place, api))
            #expect(made.status == 201)
            let changed = try await api.send(.patch, "/v1/proxies/a", #"{"upstream":"127.0.0.1:9"}"#)
            #expect(changed.status == 200 && changed.number("connections.accepted") == 0, "\(changed.text)")
            let refused = try await api.send(.patch, "/v1/proxies/a", #"{"upstream":"\#(place)"}"#)
            #expect(refused.status == 400, "\(refused.text)")
            #expect(TestSocket.errnoOfConnecting(to: SocketAddress(unix: listen)) == 0)
        }
    }

    @Test func `a proxy is turned around, and two proxies are no ring`() async throws {
        try await withV1 { api in
            let (a, b) = (try free(), try free())
            func proxy(_ name: String, _ listen: SocketAddress, _ upstream: SocketAddress) -> String {
                #"{"name":"\#(name)","listen":"\#(listen)","upstream":"\#(upstream)"}"#
            }
            #expect(try await api.send(.post, "/v1/proxies", proxy("p", a, b)).status == 201)
            let patched = try await api.send(.patch, "/v1/proxies/p", #"{"listen":"\#(b)","upstream":"\#(a)"}"#)
            #expect(patched.status == 200, "\(patched.text)")
            let listed = try await api.send(.post, "/populate", "[\(proxy("p", a, b))]")
            #expect(listed.status == 201, "\(listed.text)")
            let snapshot = #"{"proxies":[\#(proxy("q", b, a))],"profiles":{}}"#
            let restored = try await api.send(.put, "/v1/snapshot", snapshot)
            #expect(restored.status == 200, "\(restored.text)")
            let ring = try await api.send(.post, "/v1/proxies", proxy("p", a, b))
            #expect(ring.status == 400 && ring.string("detail").contains("“q”"), "\(ring.text)")
        }
    }
}
