import FaultProfile
import HTTPTypes
import Testing

@testable import ControlAPI

/// Requests that are decided by their heads, and the limits of their contents.
@Suite(.timeLimit(.minutes(2))) struct RequestHeadTests {
    private func head(_ method: HTTPRequest.Method, _ path: String, length: Int, token: String? = nil) -> APIRequest {
        var fields: HTTPFields = [.contentLength: "\(length)"]
        fields[.authorization] = token.map { "Bearer \($0)" }
        return APIRequest(method: method, path: path, fields: fields, authority: "localhost:8474")
    }

    @Test func `a request without the token, or from another origin, is refused before its content`() async throws {
        try await withV1(token: "secret") { api in
            let unauthorized = api.handler.refusal(of: head(.post, "/populate", length: 1))
            #expect(unauthorized?.status == 401)
            #expect(api.handler.refusal(of: head(.post, "/populate", length: 1, token: "secret")) == nil)
            var foreign = head(.post, "/v1/check", length: 1, token: "secret")
            foreign.fields[.origin] = "http://evil.example"
            #expect(api.handler.refusal(of: foreign)?.status == 403)
        }
    }

    @Test(
        arguments: [
            (.post, "/v1/check", ProfileLimits.fileBytes), (.put, "/v1/profiles/a", ProfileLimits.fileBytes),
            (.put, "/v1/profile", ProfileLimits.fileBytes), (.put, "/v1/proxies/a/faults/b", ProfileLimits.fileBytes),
            (.put, "/v1/snapshot", ControlHandler.bodyLimit), (.post, "/v1/proxies", ControlHandler.bodyLimit),
            (.post, "/populate", ControlHandler.bodyLimit), (.post, "/nowhere", ControlHandler.bodyLimit),
        ] as [(HTTPRequest.Method, String, Int)]
    )
    func `a path takes as much content as it may have, and a profile's path what a profile may have`(
        method: HTTPRequest.Method,
        path: String,
        limit: Int
    ) async throws {
        try await withV1 { api in
            #expect(api.handler.contentLimit(of: head(method, path, length: 0)) == limit)
            #expect(api.handler.refusal(of: head(method, path, length: limit)) == nil)
            #expect(api.handler.refusal(of: head(method, path, length: limit + 1))?.status == 413)
        }
    }

    @Test func `a content without a length has the same limit`() async throws {
        try await withV1 { api in
            let answer = try await api.send(.post, "/v1/check", String(repeating: " ", count: (1 << 20) + 1))
            #expect(answer.status == 413 && answer.string("code") == "too-large")
        }
    }
}
