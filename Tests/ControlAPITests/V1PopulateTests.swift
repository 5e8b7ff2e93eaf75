import ControlAPI
import HTTPTypes
import TestSockets
import Testing

/// Lists of proxies with their toxics and profiles.
@Suite(.timeLimit(.minutes(2))) struct V1PopulateTests {
    @Test func `a list makes proxies with their toxics and profiles, as at the start`() async throws {
        try await withV1 { api in
            let toxics = #"[{"type":"latency","attributes":{"latency":5}}]"#
            func list(_ more: String) -> String {
                #"[{"name":"a","listen":"127.0.0.1:0","upstream":"\#(api.upstream)"\#(more)}]"#
            }
            let made = try await api.send(.post, "/v1/populate", list(#","toxics":\#(toxics),"profile":"slow""#))
            #expect(made.status == 201, "\(made.text)")
            #expect(made.list("proxies.0.faults", "name") == ["latency", "latency_downstream"])
            #expect(made.list("proxies.0.toxics", "name") == ["latency_downstream"])
        }
    }

    @Test func `a proxy that is there goes on, with the toxics and the profile that the list gives it`() async throws {
        try await withV1 { api in
            let listen = try await api.create("a").string("listen")
            let client = try await api.client(of: "a")
            func populate(_ more: String) async throws -> V1Answer {
                let list = #"[{"name":"a","listen":"\#(listen)","upstream":"\#(api.upstream)"\#(more)}]"#
                return try await api.send(.post, "/v1/populate", list)
            }
            let given = try await populate(#","toxics":[{"type":"noop","name":"n"}],"profile":"slow""#)
            #expect(given.list("proxies.0.toxics", "name") == ["n"])
            let kept = try await populate("")
            #expect(kept.list("proxies.0.toxics", "name") == ["n"] && kept.string("proxies.0.profile.name") == "slow")
            let cleared = try await populate(#","toxics":[]"#)
            #expect(cleared.list("proxies.0.toxics", "name").isEmpty)
            #expect(cleared.number("proxies.0.connections.open") == 1)
            client.close()
        }
    }

    @Test(arguments: [
        #"[{"name":"a","upstream":"127.0.0.1:9","toxics":[{"type":"x"}]}]"#,
        #"[{"name":"a","upstream":"127.0.0.1:9"},{"name":"b","upstream":"127.0.0.1:9","profile":"none-such"}]"#,
        #"[{"name":"a","upstream":"127.0.0.1:9","lisen":"127.0.0.1:0"}]"#,
        #"[{"name":"a","upstream":"127.0.0.1:9","toxics":[{"type":"latency","toxisity":0.5}]}]"#,
        #"[{"name":"a"}]"#, "{}", "",
    ])
    func `of a list with a problem nothing is made`(body: String) async throws {
        try await withV1 { api in
            let answer = try await api.send(.post, "/v1/populate", body)
            #expect((400..<500).contains(answer.status) && !answer.string("code").isEmpty)
            #expect(try await api.send(.get, "/v1/proxies").list("proxies", "name").isEmpty)
        }
    }

    @Test(arguments: ["/populate", "/v1/populate"])
    func `a proxy that can't move goes on where it is, with its connections`(path: String) async throws {
        try await withV1 { api in
            let listen = try await api.create("a").string("listen")
            let client = try await api.client(of: "a")
            let (taken, address) = TestSocket.listening()
            for place in ["127.0.0.1:xx", address] {
                let body = #"[{"name":"a","listen":"\#(place)","upstream":"127.0.0.1:9"}]"#
                #expect(try await api.send(.post, path, body).status >= 400)
                let proxy = try await api.send(.get, "/v1/proxies/a")
                #expect(proxy.string("listen") == listen && proxy.number("connections.open") == 1)
            }
            let moved = #"[{"name":"a","listen":"127.0.0.1:0","upstream":"127.0.0.1:9"}]"#
            #expect(try await api.send(.post, path, moved).status == 201)
            let proxy = try await api.send(.get, "/v1/proxies/a")
            #expect(proxy.string("upstream") == "127.0.0.1:9" && proxy.number("connections.open") == 0)
            client.close()
            taken.close()
        }
    }

    @Test func `an address without a host is on the loopback interface, as for one proxy`() async throws {
        try await withV1 { api in
            let body = #"[{"name":"a","listen":":0","upstream":":9"},{"name":"b","upstream":":9"}]"#
            let made = try await api.send(.post, "/v1/populate", body)
            #expect(made.list("proxies", "listen").allSatisfy { $0.hasPrefix("127.0.0.1:") }, "\(made.text)")
            #expect(made.list("proxies", "upstream") == ["127.0.0.1:9", "127.0.0.1:9"])
        }
    }

    @Test func `Toxiproxy's request leaves toxics out, as there`() async throws {
        try await withV1 { api in
            let list = #"[{"name":"a","upstream":"127.0.0.1:9","more":1,"toxics":[{"type":"noop"}]}]"#
            let made = try await api.send(.post, "/populate", list)
            #expect(made.status == 201 && made.list("proxies.0.toxics", "name").isEmpty)
        }
    }
}
