import ControlAPI
import HTTPTypes
import Testing

/// Paths, methods and tokens of the `/v1` API, and its page.
@Suite(.timeLimit(.minutes(2))) struct V1RouteTests {
    @Test func `an unknown path is 404, and a wrong method is 405 with the methods that there are`() async throws {
        try await withV1 { api in
            for path in ["/v1", "/v1/nothing", "/v1/proxies/", "/v1/proxies/a/b/c/d"] {
                let answer = try await api.send(.get, path)
                #expect(answer.status == 404 && answer.string("code") == "not-found", "\(path)")
            }
            let wrong = try await api.send(.post, "/v1/proxies/a")
            #expect(wrong.status == 405 && wrong.fields[.allow] == "GET, HEAD, PATCH, DELETE")
            let stream = try await api.send(.head, "/v1/events")
            #expect(stream.status == 405 && stream.fields[.allow] == "GET")
            for path in ["/", "/v1/proxies"] {
                let (head, get) = (try await api.send(.head, path), try await api.send(.get, path))
                #expect(head.status == 200 && head.fields == get.fields, "\(path)")
            }
            for path in ["/v1/proxies/%zz", "/v1/proxies/%+a", "/v1/proxies/%-1", "/v1/proxies/%-0", "/v1/proxies/%a"] {
                let malformed = try await api.send(.get, path)
                #expect(malformed.status == 400, "\(path)")
            }
            let others = try await api.send(.get, "/version")
            #expect(others.status == 200)
        }
    }

    @Test func `an address that can't be listened on is an error of the client`() async throws {
        try await withV1 { api in
            let malformed = #"{"name":"a","listen":"x","upstream":"127.0.0.1:9"}"#
            let answer = try await api.send(.post, "/v1/proxies", malformed)
            #expect(answer.status == 400 && answer.string("code") == "cannot-listen")
            let taken = #"{"name":"a","listen":"\#(api.upstream)","upstream":"127.0.0.1:9"}"#
            let busy = try await api.send(.post, "/v1/proxies", taken)
            #expect(busy.status == 409 && busy.string("code") == "cannot-listen")
        }
    }

    @Test func `a body that wasn't read is an error in the form of its API`() {
        func response(_ path: String) -> V1Answer {
            let request = APIRequest(method: .post, path: path, query: "", fields: [:], authority: nil, body: [])
            return V1Answer(ControlHandler.unread(request, 413, "too long"))
        }
        let own = response("/v1/proxies")
        #expect(own.status == 413 && own.fields[.contentType] == "application/problem+json")
        #expect(own.string("code") == "too-large" && own.fields[.connection] == "close")
        #expect(response("/proxies").string("error") == "too long")
    }

    @Test func `with a token the page is free and the rest is not`() async throws {
        try await withV1(token: "secret") { api in
            for method in [HTTPRequest.Method.get, .head] {
                let page = try await api.send(method, "/")
                #expect(page.status == 200)
            }
            let refused = try await api.send(.get, "/v1/proxies")
            #expect(refused.status == 401 && refused.string("code") == "unauthorized")
            let passed = try await api.send(.get, "/v1/proxies", fields: [.authorization: "Bearer secret"])
            #expect(passed.status == 200)
        }
    }

    @Test func `a page of another site is refused`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.get, "/v1/proxies", fields: [.origin: "http://evil.example"])
            #expect(answer.status == 403 && answer.string("code") == "forbidden")
        }
    }

    @Test func `the page runs its own script and style, and nothing else`() async throws {
        try await withV1 { api in
            let page = try await api.send(.get, "/")
            #expect(page.fields[.contentType] == "text/html; charset=utf-8" && page.text.hasPrefix("<!doctype html>"))
            let policy = try #require(page.fields[.contentSecurityPolicy])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'sha256-"))
            #expect(policy.contains("style-src 'sha256-") && policy.contains("frame-ancestors 'none'"))
            #expect(!policy.contains("unsafe"))
            // One hash for each inline element.
            let elements = ["<script>", "<style>"].map { page.text.split(separator: $0).count - 1 }
            #expect(policy.split(separator: "'sha256-").count - 1 == elements.reduce(0, +))
            #expect(page.fields[.xContentTypeOptions] == "nosniff" && page.fields[.cacheControl] == "no-cache")
            #expect(page.fields[HTTPField.Name("Referrer-Policy")!] == "no-referrer")
        }
    }
}
