import ControlAPI
import HTTPTypes
import Testing

/// Queries, bodies and addresses of requests to the `/v1` API.
@Suite(.timeLimit(.minutes(2))) struct V1RequestTests {
    private static let fault = #"{"kind":"latency","delay":"1 ms"}"#

    @Test(arguments: [
        ("/v1/proxies/a/faults/f?fro=2s", "“fro” is unknown; those of this request are for"),
        ("/v1/proxies/a/faults/f?For=2s", "“For” is unknown"),
        ("/v1/proxies/a/faults/f?for=2s&for=3s", "for is there twice"),
        ("/v1/proxies/a/faults/f?for=%zz", "for can't be decoded"),
        ("/v1/proxies/a/faults/f?for", "for is a duration"),
        ("/v1/faults/f?f%6Fr=2s&x", "“x” is unknown"),
        ("/v1/proxies/a/profile?for=2s", "“for” is unknown; this request has none"),
    ])
    func `a query that isn't the request's is refused, and changes nothing`(path: String, detail: String) async throws {
        try await withV1 { api in
            try await api.create("a")
            let answer = try await api.send(.put, path, V1RequestTests.fault)
            #expect(answer.status == 400 && answer.string("code") == "invalid")
            #expect(answer.string("detail").contains(detail), "\(answer.text)")
            let proxy = try await api.send(.get, "/v1/proxies/a")
            #expect(proxy.value("faults.0") == nil)
        }
    }

    @Test func `the page and the metrics take the parameters of others`() async throws {
        try await withV1 { api in
            let page = try await api.send(.get, "/?utm_source=x")
            let metrics = try await api.send(.get, "/metrics?format=text")
            #expect(page.status == 200 && metrics.status == 200)
        }
    }

    @Test(arguments: [
        (HTTPRequest.Method.put, "/v1/proxies/a/faults/f"), (.put, "/v1/proxies/a/profile"), (.put, "/v1/snapshot"),
        (.post, "/v1/proxies"), (.post, "/v1/wait"), (.post, "/v1/check"), (.post, "/v1/proxies/a/clock"),
    ])
    func `a request without its body says so`(method: HTTPRequest.Method, path: String) async throws {
        try await withV1 { api in
            try await api.create("a")
            for body in ["", " \n"] {
                let answer = try await api.send(method, path, body)
                #expect(answer.status == 400 && answer.string("code") == "invalid")
                #expect(answer.string("detail").contains("no body"))
            }
        }
    }

    @Test func `a body that isn't JSON is an error of its own, with the place`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.post, "/v1/wait", #"{"until": accepted}"#)
            #expect(answer.status == 400 && answer.string("code") == "malformed-json")
            #expect(answer.number("problems.0.line") == 1 && answer.number("problems.0.column") == 11)
            let checked = try await api.send(.post, "/v1/check", "{")
            #expect(checked.status == 200 && checked.list("problems", "message").count == 1)
        }
    }

    @Test func `a value of a wrong type is named`() async throws {
        try await withV1 { api in
            let body = #"{"name":"a","upstream":"127.0.0.1:9","seed":1.5}"#
            let answer = try await api.send(.post, "/v1/proxies", body)
            #expect(answer.string("detail") == "“seed” must be a whole number from 0 to 18446744073709551615, not 1.5")
        }
    }

    @Test func `a fault has one name, and a profile that isn't there has a remedy`() async throws {
        try await withV1 { api in
            _ = try await api.send(.post, "/v1/proxies", #"{"name":"a","upstream":"127.0.0.1:9"}"#)
            let path = "/v1/proxies/a/faults/f"
            let other = try await api.send(.put, path, #"{"kind":"latency","delay":"1 ms","name":"g"}"#)
            #expect(other.status == 400 && other.string("detail").hasSuffix("give it one name"), "\(other.text)")
            let same = try await api.send(.put, path, #"{"kind":"latency","delay":"1 ms","name":"f"}"#)
            #expect(same.status == 200, "\(same.text)")
            let missing = try await api.send(.put, "/v1/proxies/a/profile", #""wifi-raom""#)
            #expect(missing.string("detail").contains(": "), "\(missing.text)")
            let nowhere = try await api.send(.get, "/v1/nowhere")
            #expect(nowhere.string("detail") == "there is no path “/v1/nowhere”: GET /v1/openapi.json lists them")
        }
    }

    @Test func `an empty address to listen on is a free port of loopback`() async throws {
        try await withV1 { api in
            let made = try await api.send(.post, "/v1/proxies", #"{"name":"a","listen":"","upstream":":9"}"#)
            #expect(made.status == 201 && made.string("listen").hasPrefix("127.0.0.1:"), "\(made.text)")
            let moved = try await api.send(.patch, "/v1/proxies/a", #"{"listen":""}"#)
            #expect(moved.status == 200 && moved.string("listen").hasPrefix("127.0.0.1:"), "\(moved.text)")
        }
    }
}
