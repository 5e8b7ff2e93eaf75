import ControlAPI
import EventLoop
import HTTPTypes
import Testing

/// Mistakes in requests to Toxiproxy's API, and names that need an encoding.
@Suite(.timeLimit(.minutes(2))) struct ToxiproxyMistakeTests {
    private static func toxic(_ type: String, _ attributes: String) -> String {
        #"{"type":"\#(type)","attributes":\#(attributes)}"#
    }

    @Test(arguments: [
        (toxic("latency", #"{"latency":1.5}"#), "latency must be a whole number, not 1.5"),
        (toxic("latency", #"{"latency":"10"}"#), "latency must be a whole number, not a text"),
        (toxic("latency", #"{"latncy":100}"#), "latency has no attribute “latncy”: it has latency, jitter"),
        (toxic("noop", #"{"rate":1}"#), "noop has no attribute “rate”: it has none"),
    ])
    func `a wrong attribute is named`(body: String, text: String) async throws {
        try await withV1 { api in
            try await api.create("a")
            let answer = try await api.send(.post, "/proxies/a/toxics", body)
            #expect(answer.status == 400 && answer.string("error") == "bad request body: \(text)")
        }
    }

    @Test(arguments: [
        (
            "udp:127.0.0.1:53",
            "“udp:127.0.0.1:53” is for datagrams: Squall forwards TCP and Unix sockets; UDP and QUIC aren't there yet: "
                + "write HOST:PORT"
        ),
        (
            "https://api.test/v2",
            "“https://api.test/v2” has more than a host and a port: write “https://api.test”; paths are in the requests of "
                + "clients"
        ),
        (
            "tls://api.test:8443",
            "“tls://api.test:8443” is a URL, not an address: write “api.test:8443”; TLS passes through as it is"
        ),
    ])
    func `a URL, or an address for datagrams, gets the command's answer in Toxiproxy's form`(
        address: String,
        text: String
    ) async throws {
        try await withV1 { api in
            try await api.create("a")
            let requests: [(HTTPRequest.Method, String, String)] = [
                (.post, "/proxies", #"{"name":"b","listen":"127.0.0.1:0","upstream":"\#(address)"}"#),
                (.post, "/proxies/a", #"{"upstream":"\#(address)"}"#),
                (.post, "/v1/proxies", #"{"name":"b","upstream":"\#(address)"}"#),
            ]
            for (method, path, body) in requests {
                let answer = try await api.send(method, path, body)
                let isToxiproxy = !path.hasPrefix("/v1")
                #expect(answer.status == 400)
                #expect(answer.string(isToxiproxy ? "error" : "detail") == "upstream: \(text)")
            }
            let listen = try await api.send(
                .post,
                "/proxies",
                #"{"name":"b","listen":"\#(address)","upstream":"127.0.0.1:9"}"#
            )
            #expect(listen.status == 500 && listen.string("error") == "listen tcp: \(text)")
        }
    }

    @Test func `attributes match in any case, and a change with an unknown one changes nothing`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let body = #"{"type":"latency","name":"t","attributes":{"Latency":5}}"#
            #expect(try await api.send(.post, "/proxies/a/toxics", body).status == 200)
            let wrong = try await api.send(.patch, "/proxies/a/toxics/t", #"{"attributes":{"latency":7,"jiter":1}}"#)
            #expect(wrong.status == 400)
            #expect(try await api.send(.get, "/proxies/a/toxics/t").number("attributes.latency") == 5)
        }
    }

    @Test func `in strict mode an unknown attribute is left out, as by Toxiproxy`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let strict = ToxiproxyAPI(proxies: api.proxies, isStrict: true)
            let body = Array(ToxiproxyMistakeTests.toxic("latency", #"{"latncy":100}"#).utf8)
            let response = await strict.respond(to: APIRequest(method: .post, path: "/proxies/a/toxics", body: body))
            #expect(response?.status == 200)
        }
    }

    @Test func `names with a slash are reached by its encoding`() async throws {
        try await withV1 { api in
            try await api.create("a/b")
            let body = #"{"type":"noop","name":"c/d"}"#
            #expect(try await api.send(.post, "/proxies/a%2Fb/toxics", body).status == 200)
            #expect(try await api.send(.get, "/proxies/a%2fb/toxics/c%2Fd").status == 200)
            #expect(try await api.send(.delete, "/proxies/a%2Fb/toxics/c%2Fd").status == 204)
            #expect(try await api.send(.delete, "/proxies/a%2Fb").status == 204)
        }
    }

    @Test func `names that no path can have are refused`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let proxy = #"{"name":"..","listen":"127.0.0.1:0","upstream":"127.0.0.1:9"}"#
            for (path, body) in [
                ("/proxies", proxy), ("/populate", "[\(proxy)]"), ("/v1/populate", "[\(proxy)]"),
                ("/proxies/a/toxics", #"{"type":"noop","name":".."}"#),
            ] {
                let answer = try await api.send(.post, path, body)
                #expect(answer.status == 400 && answer.text.contains("a name can't be “..”"), "\(path): \(answer.text)")
            }
        }
    }

    @Test func `an upstream without a host is on this machine`() async throws {
        try await withV1 { api in
            let port = try #require(Endpoint(api.upstream)?.port)
            let body = #"{"name":"a","listen":"127.0.0.1:0","upstream":":\#(port)"}"#
            let made = try await api.send(.post, "/proxies", body)
            #expect(made.status == 201 && made.string("upstream") == ":\(port)")
            try await api.client(of: "a").close()
        }
    }
}
