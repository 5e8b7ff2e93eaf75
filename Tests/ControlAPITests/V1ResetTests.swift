import ControlAPI
import HTTPTypes
import TestStreams
import Testing

/// Requests that take faults away, and those that count from a baseline.
@Suite(.timeLimit(.minutes(2))) struct V1ResetTests {
    private static let fault = #"{"kind":"latency","delay":"1 ms"}"#
    private static let toxic = #"{"name":"t","type":"latency","attributes":{"latency":5}}"#

    @Test func `one reset leaves what /v1 has set, and the other clears all`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            _ = try await api.send(.put, "/v1/proxies/a/faults/f", V1ResetTests.fault)
            _ = try await api.send(.post, "/proxies/a/toxics", V1ResetTests.toxic)
            _ = try await api.send(.patch, "/v1/proxies/a", #"{"enabled":false}"#)
            #expect(try await api.send(.post, "/reset").status == 204)
            let left = try await api.send(.get, "/v1/proxies/a")
            #expect(left.flag("enabled") == true && left.list("faults", "name") == ["latency", "f"])
            _ = try await api.send(.post, "/proxies/a/toxics", V1ResetTests.toxic)
            _ = try await api.send(.patch, "/v1/proxies/a", #"{"enabled":false}"#)
            let cleared = try await api.send(.post, "/v1/reset")
            #expect(cleared.status == 200 && cleared.flag("proxies.0.enabled") == true)
            #expect(cleared.list("proxies.0.faults", "name").isEmpty && cleared.value("proxies.0.profile") == nil)
        }
    }

    @Test(arguments: [(HTTPRequest.Method.post, "/v1/reset"), (.delete, "/v1/profile"), (.delete, "/v1/proxies/a")])
    func `a request that takes no body refuses one, since it would act on more`(
        method: HTTPRequest.Method,
        path: String
    ) async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            let answer = try await api.send(method, path, #"{"proxy":"b"}"#)
            #expect(answer.status == 400 && answer.string("detail") == "this request takes no body: leave it out")
            #expect(try await api.send(.get, "/v1/proxies/a").string("profile.name") == "slow")
            #expect([200, 204].contains(try await api.send(method, path, "\r\n").status))
        }
    }

    @Test func `a fault that is gone may be deleted again, and one that never was may not`() async throws {
        try await withV1 { api in
            try await api.create("a")
            try await api.create("b")
            _ = try await api.send(.put, "/v1/proxies/a/faults/f?for=1ms", V1ResetTests.fault)
            #expect(try await eventually { try await api.send(.get, "/v1/proxies/a").value("faults.0") == nil })
            for path in ["/v1/proxies/a/faults/f", "/v1/faults/f"] {
                let answer = try await api.send(.delete, path)
                #expect(answer.status == 200, "\(answer.text)")
            }
            for path in ["/v1/proxies/b/faults/f", "/v1/proxies/a/faults/g", "/v1/faults/g"] {
                let answer = try await api.send(.delete, path)
                #expect(answer.status == 404 && answer.string("code") == "fault-not-found")
            }
        }
    }

    @Test func `the names of the last 256 faults that are gone are known`() async throws {
        try await withV1 { api in
            try await api.create("a")
            for number in 0...256 {
                let path = "/v1/proxies/a/faults/f\(number)"
                _ = try await api.send(.put, path, V1ResetTests.fault)
                #expect(try await api.send(.delete, path).status == 200)
            }
            #expect(try await api.send(.delete, "/v1/proxies/a/faults/f0").status == 404)
            #expect(try await api.send(.delete, "/v1/proxies/a/faults/f1").status == 200)
        }
    }

    @Test func `a wait counts from its baseline`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let client = try await api.client(of: "a")
            func wait(_ more: String) async throws -> V1Answer {
                try await api.send(.post, "/v1/wait", #"{"proxy":"a","timeout":"1 ms",\#(more)}"#)
            }
            let first = try await wait(#""until":"accepted >= 1""#)
            #expect(first.status == 200 && first.number("value") == 1)
            for baseline in ["1", #""now""#] {
                let none = try await wait(#""until":"accepted >= 1","baseline":\#(baseline)"#)
                #expect(none.status == 408)
                #expect(none.string("detail").hasSuffix("accepted is 1, 0 of it since the baseline"))
            }
            let other = try await api.client(of: "a")
            let second = try await wait(#""until":"accepted == 1","baseline":1"#)
            #expect(second.status == 200 && second.number("value") == 2)
            for wrong in ["-1", "1.5", #""then""#, "{}"] {
                #expect(try await wait(#""until":"accepted >= 1","baseline":\#(wrong)"#).status == 400)
            }
            let gauge = try await wait(#""until":"open >= 1","baseline":1"#)
            #expect(gauge.status == 400 && gauge.string("detail").contains("goes up and down"))
            client.close()
            other.close()
        }
    }
}
