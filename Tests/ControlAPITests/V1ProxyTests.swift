import ControlAPI
import EventLoop
import HTTPTypes
import TestSockets
import TestStreams
import Testing

/// Proxies of the `/v1` API: their life, their profiles and their faults.
@Suite(.timeLimit(.minutes(2))) struct V1ProxyTests {
    @Test func `a proxy is created, listed, changed and deleted`() async throws {
        try await withV1 { api in
            let more = #","seed":11,"profile":"slow","faults":[{"kind":"stall","at":"1 GiB","for":"1 s"}]"#
            let made = try await api.create("db", more)
            #expect(made.string("name") == "db" && made.number("seed") == 11 && made.flag("enabled") == true)
            #expect(made.string("profile.name") == "slow" && made.string("profile.summary") == "a slow line")
            #expect(made.list("faults", "name") == ["latency", "stall"])
            #expect(made.list("faults", "source") == ["profile", "extra"])
            #expect(made.string("faults.0.text") == "latency 1 ms")
            #expect(made.string("faults.0.fault.delay") == "1 ms")
            let client = try await api.client(of: "db")
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.number("proxies.0.connections.accepted") == 1)
            #expect(list.number("proxies.0.bytes.upstream") == 1)
            #expect(list.number("proxies.0.faulted.latency") == 2)
            client.close()
            let off = try await api.send(.patch, "/v1/proxies/db", #"{"enabled":false}"#)
            #expect(off.status == 200 && off.flag("enabled") == false)
            let gone = try await api.send(.delete, "/v1/proxies/db")
            #expect(gone.status == 204 && gone.text.isEmpty)
            let again = try await api.send(.get, "/v1/proxies/db")
            #expect(again.status == 404 && again.string("code") == "proxy-not-found")
        }
    }

    @Test func `an address without a host is on loopback`() async throws {
        try await withV1 { api in
            let made = try await api.send(.post, "/v1/proxies", #"{"name":"db","listen":":0","upstream":":9"}"#)
            #expect(made.status == 201 && made.string("upstream") == "127.0.0.1:9")
            #expect(made.string("listen").hasPrefix("127.0.0.1:"))
            let moved = try await api.send(.patch, "/v1/proxies/db", #"{"listen":":0","upstream":":10"}"#)
            #expect(moved.status == 200 && moved.string("upstream") == "127.0.0.1:10")
            #expect(moved.string("listen").hasPrefix("127.0.0.1:"))
        }
    }

    @Test func `of a proxy that can't be created nothing stays`() async throws {
        try await withV1 { api in
            try await api.create("db")
            let bodies: [(String, Int, String)] = [
                (#"{"name":"db","upstream":"127.0.0.1:1"}"#, 409, "proxy-exists"),
                (#"{"name":"b","upstream":"127.0.0.1:1","lisen":"x"}"#, 400, "invalid"),
                (#"{"name":"b"}"#, 400, "invalid"),
                (#"{"name":"b","upstream":"127.0.0.1:1","enabled":1}"#, 400, "invalid"),
                (#"{"name":"b","upstream":"127.0.0.1:1","seed":-1}"#, 400, "invalid"),
                (#"{"name":"b","upstream":"127.0.0.1:1","mode":"999"}"#, 400, "invalid"),
                (#"{"name":"b","upstream":"127.0.0.1:1","profile":"none-such"}"#, 404, "profile-not-found"),
                (#"{"name":"b","upstream":"127.0.0.1:1","faults":[{"kind":"x"}]}"#, 422, "profile-problems"),
                (#"{"name":"b","upstream":"127.0.0.1:1""#, 400, "malformed-json"),
                (#"{"name":"..","upstream":"127.0.0.1:1"}"#, 400, "invalid"),
                (#"{"name":"b","upstream":":1","faults":[{"kind":"cut","at":"1 B","name":"."}]}"#, 400, "invalid"),
                ("[]", 400, "invalid"),
            ]
            for (body, status, code) in bodies {
                let answer = try await api.send(.post, "/v1/proxies", body)
                #expect(answer.status == status && answer.string("code") == code, "\(body): \(answer.text)")
                #expect(answer.fields[.contentType] == "application/problem+json")
                #expect(answer.string("type") == "about:blank" && !answer.string("title").isEmpty)
            }
            let list = try await api.send(.get, "/v1/proxies")
            #expect(list.list("proxies", "name") == ["db"])
        }
    }

    @Test(arguments: [#""listen":"192.0.2.1:"#, #""listen":"127.0.0.2:"#, #""upstream":"127.0.0.1:"#])
    func `a change that is refused ends no connection`(change: String) async throws {
        try await withV1 { api in
            let port = try #require(Endpoint(try await api.create("a").string("listen"))?.port)
            let taken = #"{"name":"b","listen":"127.0.0.2:\#(port)","upstream":"\#(api.upstream)"}"#
            try #require(try await api.send(.post, "/v1/proxies", taken).status == 201)
            let client = try await api.client(of: "a")
            let answer = try await api.send(.patch, "/v1/proxies/a", "{\(change)\(port)\"}")
            #expect([400, 409].contains(answer.status), "\(answer.text)")
            let next = try await api.client(of: "a")
            let proxy = try await api.send(.get, "/v1/proxies/a")
            #expect(proxy.number("connections.open") == 2 && proxy.flag("enabled") == true)
            for client in [client, next] { client.close() }
        }
    }

    @Test func `problems of a profile have their lines and columns in the body`() async throws {
        try await withV1 { api in
            try await api.create("db")
            let body = "{\"name\":\"a\",\n \"faults\":[{\"kind\":\"latency\",\"delya\":\"1 ms\"}]}"
            let answer = try await api.send(.put, "/v1/proxies/db/profile", body)
            #expect(answer.status == 422)
            #expect(answer.number("problems.0.line") == 2)
            #expect(answer.list("problems", "message").contains { $0.contains("delya") })
            #expect(!answer.string("problems.0.remedy").isEmpty)
            let proxy = try await api.send(.get, "/v1/proxies/db")
            #expect(proxy.value("profile") == nil)
        }
    }

    @Test func `a profile is set on one proxy and on all, by name and by value, and removed`() async throws {
        try await withV1 { api in
            try await api.create("a")
            try await api.create("b")
            let named = try await api.send(.put, "/v1/proxies/a/profile", "\"slow\"")
            #expect(named.status == 200 && named.string("profile.name") == "slow")
            let value = #"{"name":"own","extends":"slow","phases":[{"name":"in","for":"4 s"},{"name":"out"}]}"#
            let all = try await api.send(.put, "/v1/profile", value)
            #expect(all.list("proxies", "name") == ["a", "b"])
            #expect(all.string("proxies.1.profile.name") == "own")
            #expect(all.list("proxies.1.clock.phases", "name") == ["in", "out"])
            #expect(all.number("proxies.1.clock.phases.1.from") == 4_000)
            #expect(all.value("proxies.1.clock.phases.1.until") == nil)
            #expect(all.list("proxies.1.faults", "name") == ["latency"])
            let missing = try await api.send(.put, "/v1/proxies/a/profile", "\"none-such\"")
            #expect(missing.status == 404 && missing.string("code") == "profile-not-found")
            let one = try await api.send(.delete, "/v1/proxies/a/profile")
            #expect(one.status == 200 && one.value("profile") == nil)
            let none = try await api.send(.delete, "/v1/profile")
            #expect(none.value("proxies.1.profile") == nil && none.list("proxies.1.faults", "name").isEmpty)
        }
    }

    @Test func `a fault is added, replaced and removed, on one proxy and on all`() async throws {
        try await withV1 { api in
            try await api.create("a")
            try await api.create("b")
            let path = "/v1/proxies/a/faults/page%2Flatency"
            let added = try await api.send(.put, path, #"{"kind":"latency","delay":"200 ms"}"#)
            #expect(added.list("faults", "name") == ["page/latency"])
            let replaced = try await api.send(.put, path, #"{"kind":"latency","delay":"300 ms","jitter":"1 ms"}"#)
            #expect(replaced.list("faults", "text") == ["latency 300 ms, jitter 1 ms"])
            let all = try await api.send(.put, "/v1/faults/wifi-off", #"{"kind":"outage","how":"silence"}"#)
            #expect(all.list("proxies.0.faults", "name") == ["page/latency", "wifi-off"])
            #expect(all.list("proxies.1.faults", "name") == ["wifi-off"])
            let wrong = try await api.send(.put, path, #"{"kind":"latency"}"#)
            #expect(wrong.status == 422 && wrong.number("problems.0.line") == 1)
            let none = try await api.send(.delete, "/v1/faults/wifi-off")
            #expect(none.list("proxies.0.faults", "name") == ["page/latency"])
            let gone = try await api.send(.delete, path)
            #expect(gone.list("faults", "name").isEmpty)
            for path in [path, "/v1/faults/wifi-off"] {
                let again = try await api.send(.delete, path)
                #expect(again.status == 200, "as a second DELETE of a profile")
            }
        }
    }

    @Test func `a fault with a time goes by itself, and a replaced one keeps the later time`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let path = "/v1/proxies/a/faults/short"
            let added = try await api.send(.put, "\(path)?for=1ms", #"{"kind":"latency","delay":"1 ms"}"#)
            #expect(added.status == 200)
            #expect(try await eventually { try await api.send(.get, "/v1/proxies/a").value("faults.0") == nil })
            _ = try await api.send(.put, "\(path)?for=1ms", #"{"kind":"latency","delay":"1 ms"}"#)
            let longer = try await api.send(.put, "\(path)?for=1h", #"{"kind":"latency","delay":"1 ms"}"#)
            #expect(longer.string("faults.0.until").hasSuffix("Z"))
            _ = try await api.send(.put, "/v1/proxies/a/faults/other?for=1ms", #"{"kind":"latency","delay":"1 ms"}"#)
            #expect(try await eventually { try await api.send(.get, "/v1/proxies/a").value("faults.1") == nil })
            let left = try await api.send(.get, "/v1/proxies/a")
            #expect(left.list("faults", "name") == ["short"])
            for time in ["0s", "25h", "3", "x"] {
                let wrong = try await api.send(.put, "\(path)?for=\(time)", #"{"kind":"latency","delay":"1 ms"}"#)
                #expect(wrong.status == 400, "\(time)")
            }
        }
    }

    @Test func `a proxy has at most 256 faults`() async throws {
        try await withV1 { api in
            let faults = Array(repeating: #"{"kind":"latency","delay":"1 ms"}"#, count: 256).joined(separator: ",")
            let made = try await api.send(
                .post,
                "/v1/proxies",
                #"{"name":"a","upstream":"\#(api.upstream)","profile":"slow","faults":[\#(faults)]}"#
            )
            #expect(made.status == 429 && made.string("code") == "limit-reached")
            try await api.create("a", #","faults":[\#(faults)]"#)
            let more = try await api.send(.put, "/v1/proxies/a/faults/one-more", #"{"kind":"latency","delay":"1 ms"}"#)
            #expect(more.status == 429 && more.string("code") == "limit-reached")
        }
    }

    @Test func `an address with TLS is a problem where there is none`() async throws {
        try await withV1 { api in
            for body in [
                #"{"name":"b","listen":"tls::0","upstream":"127.0.0.1:9"}"#,
                #"{"name":"b","upstream":"https://api.test"}"#,
            ] {
                let answer = try await api.send(.post, "/v1/proxies", body)
                #expect(answer.status == 400)
                #expect(answer.string("detail").contains("TLS isn't spoken here"))
            }
        }
    }
}
