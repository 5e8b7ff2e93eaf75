import ControlAPI
import HTTPTypes
import Testing

/// Profiles of the `/v1` API.
@Suite(.timeLimit(.minutes(2))) struct V1ProfileTests {
    @Test func `profiles are listed, read, stored over a shipped one, and deleted`() async throws {
        try await withV1 { api in
            let first = try await api.send(.get, "/v1/profiles")
            #expect(first.list("profiles", "name") == ["slow"] && first.list("profiles", "source") == ["shipped"])
            let body = #"{"name":"slow","extends":"slow","summary":"mine"}"#
            let mine = try await api.send(.put, "/v1/profiles/slow", body)
            #expect(mine.status == 200 && mine.string("faults.0.delay") == "1 ms")
            let twice = try await api.send(.put, "/v1/profiles/slow", body)
            #expect(twice.list("faults", "name") == ["latency"])
            let other = try await api.send(.put, "/v1/profiles/other", #"{"name":"other","extends":"slow"}"#)
            #expect(other.string("summary") == "mine")
            let list = try await api.send(.get, "/v1/profiles")
            #expect(list.list("profiles", "source") == ["stored", "stored"])
            let deleted = try await api.send(.delete, "/v1/profiles/slow")
            #expect(deleted.status == 204)
            let shipped = try await api.send(.get, "/v1/profiles/slow")
            #expect(shipped.string("summary") == "a slow line")
        }
    }

    @Test func `the version of a profile in the list differs once its content has changed`() async throws {
        try await withV1 { api in
            func version(_ fault: String) async throws -> String {
                let body = #"{"name":"a","summary":"the same","faults":[\#(fault)]}"#
                _ = try await api.send(.put, "/v1/profiles/a", body)
                return try await api.send(.get, "/v1/profiles").string("profiles.0.version")
            }
            let first = try await version(#"{"kind":"latency","delay":"1 ms"}"#)
            let second = try await version(#"{"kind":"latency","delay":"1 s"}"#)
            let same = try await version(#"{ "delay": "1000 ms", "kind": "latency" }"#)
            #expect(!first.isEmpty && first != second && second == same)
        }
    }

    @Test func `what isn't there, or can't be changed, is an error`() async throws {
        try await withV1 { api in
            let answers = [
                (try await api.send(.get, "/v1/profiles/none"), 404, "profile-not-found"),
                (try await api.send(.delete, "/v1/profiles/none"), 404, "profile-not-found"),
                (try await api.send(.delete, "/v1/profiles/slow"), 409, "conflict"),
                (try await api.send(.put, "/v1/profiles/a.json", #"{"name":"a.json"}"#), 400, "invalid"),
                (try await api.send(.put, "/v1/profiles/a", #"{"name":"b"}"#), 400, "invalid"),
                (try await api.send(.put, "/v1/profiles/a", "{}"), 422, "profile-problems"),
            ]
            for (answer, status, code) in answers {
                #expect(answer.status == status && answer.string("code") == code, "\(answer.text)")
            }
        }
    }

    @Test func `a check finds every problem and changes nothing`() async throws {
        try await withV1 { api in
            let good = try await api.send(.post, "/v1/check", #"{"name":"a"}"#)
            #expect(good.status == 200 && good.list("problems", "message").isEmpty)
            let bad = try await api.send(.post, "/v1/check", #"{"name":"a","faults":[{"kind":"x"}],"b":1}"#)
            #expect(bad.status == 200 && bad.list("problems", "message").count == 2)
            let file = try await api.send(.post, "/v1/check", #"{"name":"a","extends":"/etc/passwd"}"#)
            #expect(file.list("problems", "message") == ["there is no such profile"])
        }
    }

    @Test func `at most 256 profiles are stored`() async throws {
        try await withV1 { api in
            for number in 0..<ProfileStore.storedLimit {
                let answer = try await api.send(.put, "/v1/profiles/p\(number)", #"{"name":"p\#(number)"}"#)
                #expect(answer.status == 200)
            }
            let more = try await api.send(.put, "/v1/profiles/more", #"{"name":"more"}"#)
            #expect(more.status == 429 && more.string("code") == "limit-reached")
            let again = try await api.send(.put, "/v1/profiles/p3", #"{"name":"p3","summary":"new"}"#)
            #expect(again.status == 200)
        }
    }
}
