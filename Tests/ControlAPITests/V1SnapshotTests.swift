import ControlAPI
import EventLoop
import HTTPTypes
import TestSockets
import Testing

/// Replacing the whole state, or nothing of it.
@Suite(.timeLimit(.minutes(2))) struct V1SnapshotTests {
    @Test(arguments: ["{}", #"{"proxies":[]}"#, #"{"profiles":{}}"#, #"{"proxies":null,"profiles":{}}"#])
    func `a snapshot without one of its parts is refused`(body: String) async throws {
        try await withV1 { api in
            try await api.create("a")
            let answer = try await api.send(.put, "/v1/snapshot", body)
            #expect(answer.status == 400 && answer.string("detail").hasPrefix("missing required field: "))
            #expect(try await api.send(.get, "/v1/proxies").list("proxies", "name") == ["a"])
        }
    }

    @Test func `a snapshot is of one state, however many are restored meanwhile`() async throws {
        try await withV1 { api in
            func state(_ name: String) -> String {
                let proxy = #"{"name":"\#(name)","listen":"127.0.0.1:0","upstream":"\#(api.upstream)"}"#
                return #"{"proxies":[\#(proxy)],"profiles":{"\#(name)":{"name":"\#(name)"}}}"#
            }
            try #require(try await api.send(.put, "/v1/snapshot", state("a")).status == 200)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in ["a", "b"] {
                    group.addTask {
                        for _ in 1...20 {
                            let restored = try await api.send(.put, "/v1/snapshot", state(name))
                            #expect(restored.status == 200)
                        }
                    }
                }
                group.addTask {
                    for _ in 1...200 {
                        let read = try await api.send(.get, "/v1/snapshot")
                        let name = read.list("proxies", "name").first ?? ""
                        #expect(read.value("profiles.\(name)") != nil, "\(read.text)")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a proxy that is deleted while a snapshot with it is restored is there or gone, and not dead`()
        async throws
    {
        try await withV1 { api in
            try await api.create("a")
            let body = try await api.send(.get, "/v1/snapshot").text
            for _ in 1...30 {
                async let restored = api.send(.put, "/v1/snapshot", body)
                async let deleted = api.send(.delete, "/v1/proxies/a")
                let statuses = try await (restored.status, deleted.status)
                #expect(statuses.0 == 200 && [204, 404].contains(statuses.1))
                let answer = try await api.send(.patch, "/v1/proxies/a", #"{"enabled":true}"#)
                let isThere = try await api.send(.get, "/v1/proxies/a").status == 200
                #expect(answer.status == (isThere ? 200 : 404), "\(answer.text)")
                if !isThere { #expect(try await api.send(.put, "/v1/snapshot", body).status == 200) }
            }
        }
    }

    @Test func `a refused snapshot leaves every connection and profile`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            _ = try await api.send(.put, "/v1/profiles/mine", #"{"name":"mine"}"#)
            let client = try await api.client(of: "a")
            let (taken, address) = TestSocket.listening()
            let more = #"{"name":"b","listen":"127.0.0.1:0","upstream":"\#(api.upstream)"}"#
            let wrong = #"{"name":"c","listen":"\#(address)","upstream":"\#(api.upstream)"}"#
            let body = #"{"proxies":[\#(more),\#(wrong)],"profiles":{}}"#
            let answer = try await api.send(.put, "/v1/snapshot", body)
            #expect(answer.status == 409 && answer.string("code") == "cannot-listen")
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.list("proxies", "name") == ["a"])
            #expect(list.number("proxies.0.connections.open") == 1)
            #expect(try await api.send(.get, "/v1/profiles/mine").status == 200)
            try await blocking {
                try client.send([7])
                #expect(try client.receive(exactly: 1) == [7])
            }
            client.close()
            taken.close()
        }
    }

    @Test func `a proxy that a snapshot leaves where it is keeps its connections and gets its faults`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            try await api.create("b")
            let before = try await api.send(.get, "/v1/snapshot")
            _ = try await api.send(.put, "/v1/proxies/a/faults/f", #"{"kind":"latency","delay":"1 ms"}"#)
            _ = try await api.send(.delete, "/v1/proxies/a/profile")
            _ = try await api.send(.delete, "/v1/proxies/b")
            try await api.create("c")
            let client = try await api.client(of: "a")
            let restored = try await api.send(.put, "/v1/snapshot", before.text)
            #expect(restored.status == 200 && restored.text == before.text)
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.list("proxies", "name") == ["a", "b"])
            #expect(list.list("proxies.0.faults", "name") == ["latency"])
            #expect(list.number("proxies.0.connections.open") == 1)
            client.close()
        }
    }

    @Test func `another end for clients of an unreachable upstream is restored as well`() async throws {
        try await withV1 { api in
            let listen = try await api.create("a", at: "127.0.0.2").string("listen")
            let proxy = #"{"name":"a","listen":"\#(listen)","upstream":"\#(api.upstream)","unreachable":"close"}"#
            let answer = try await api.send(.put, "/v1/snapshot", #"{"proxies":[\#(proxy)],"profiles":{}}"#)
            #expect(answer.string("proxies.0.unreachable") == "close" && answer.string("proxies.0.listen") == listen)
        }
    }

    @Test func `a proxy whose profile names a file that isn't here gets the profile of its name`() async throws {
        try await withV1 { api in
            func restored(_ trace: String, _ name: String) async throws -> V1Answer {
                let profile = #"{"name":"t","faults":[{"kind":"trace","stream":"downstream",\#(trace)}]}"#
                let proxy = #""name":"a","listen":"127.0.0.1:0","upstream":"\#(api.upstream)","enabled":false"#
                let body = #"{\#(proxy),"profile":\#(profile),"profileName":"\#(name)"}"#
                return try await api.send(.put, "/v1/snapshot", #"{"proxies":[\#(body)],"profiles":{}}"#)
            }
            let named = try await restored(#""file":"/gone/t.trace""#, "slow")
            #expect(named.status == 200, "\(named.text)")
            #expect(named.string("proxies.0.profile.name") == "slow")
            #expect(named.string("proxies.0.profileName") == "slow")
            let unknown = try await restored(#""file":"/gone/t.trace""#, "none-such")
            #expect(unknown.status == 422 && unknown.list("problems", "message") == ["there is no such profile"])
            // What is wrong otherwise stays a problem.
            #expect(try await restored(#""fiel":"t.trace""#, "slow").status == 422)
        }
    }

    @Test func `a name to listen on stays one, with the port that it got`() async throws {
        try await withV1 { api in
            let shown = try await api.create("a", at: "localhost").string("listen")
            let port = try #require(Endpoint(shown)?.port)
            let client = try await api.client(of: "a")
            let echoed = try await api.send(.patch, "/v1/proxies/a", #"{"listen":"\#(shown)"}"#)
            #expect(shown != "localhost:\(port)" && echoed.number("connections.open") == 1)
            client.close()
            for isEnabled in [false, true] {
                let changed = try await api.send(.patch, "/v1/proxies/a", #"{"enabled":\#(isEnabled)}"#)
                #expect(changed.string("listen") == shown)
                let snapshot = try await api.send(.get, "/v1/snapshot")
                #expect(snapshot.string("proxies.0.listen") == "localhost:\(port)")
            }
        }
    }

    @Test func `proxies exchange their addresses`() async throws {
        try await withV1 { api in
            let first = try await api.create("a").string("listen")
            let second = try await api.create("b").string("listen")
            func proxy(_ name: String, _ listen: String) -> String {
                #"{"name":"\#(name)","listen":"\#(listen)","upstream":"\#(api.upstream)"}"#
            }
            let body = #"{"proxies":[\#(proxy("a", second)),\#(proxy("b", first))],"profiles":{}}"#
            let answer = try await api.send(.put, "/v1/snapshot", body)
            #expect(answer.status == 200, "\(answer.text)")
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.list("proxies", "listen") == [second, first])
            for name in ["a", "b"] { try await api.client(of: name).close() }
        }
    }

    /// The first new proxy can listen at the port of the one that leaves, the second can't.
    @Test(arguments: ["127.0.0.1", "192.0.2.1", "host.invalid"])
    func `a snapshot that is refused at the port of a leaving proxy costs it no connection`(host: String) async throws {
        try await withV1 { api in
            let address = try await api.create("a", #","profile":"slow""#).string("listen")
            try await api.create("b")
            let port = try #require(Endpoint(address)?.port)
            let client = try await api.client(of: "a")
            let before = try await api.send(.get, "/v1/snapshot")
            func proxy(_ name: String, _ listen: String) -> String {
                #"{"name":"\#(name)","listen":"\#(listen)","upstream":"\#(api.upstream)"}"#
            }
            let body = #"{"proxies":[\#(proxy("c", address)),\#(proxy("d", "\(host):\(port)"))],"profiles":{}}"#
            let answer = try await api.send(.put, "/v1/snapshot", body)
            #expect(answer.status == 409 && answer.string("code") == "cannot-listen", "\(answer.text)")
            let after = try await api.send(.get, "/v1/snapshot")
            #expect(after.text == before.text)
            #expect(try await api.send(.get, "/v1/proxies/a").number("connections.open") == 1)
            try await blocking {
                try client.send([7])
                #expect(try client.receive(exactly: 1) == [7])
            }
            client.close()
            try await api.client(of: "a").close()
        }
    }
}
