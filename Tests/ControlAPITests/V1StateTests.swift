import ControlAPI
import FaultProfile
import HTTPTypes
import TestSockets
import Testing

/// Waiting, the clock, and the state as a whole.
@Suite(.timeLimit(.minutes(2))) struct V1StateTests {
    @Test func `a wait ends when its condition holds`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            let body = #"{"proxy":"a","until":"accepted >= 1","timeout":"10 min"}"#
            async let waiting = api.send(.post, "/v1/wait", body)
            let client = try await api.client(of: "a")
            let answer = try await waiting
            #expect(answer.status == 200 && answer.flag("held") == true && answer.number("value") == 1)
            for condition in ["open == 1", "connections>0", "bytes >= 2", "faults == 2", "failed<1", "accepted != 7"] {
                let answer = try await api.send(.post, "/v1/wait", #"{"until":"\#(condition)"}"#)
                #expect(answer.status == 200, "\(condition): \(answer.text)")
            }
            client.close()
        }
    }

    @Test func `a wait that is in vain, or wrong, is an error`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let late = try await api.send(.post, "/v1/wait", #"{"until":"accepted > 0","timeout":"1 ms"}"#)
            #expect(late.status == 408 && late.string("code") == "timeout")
            let wrong: [(String, Int)] = [
                (#"{"until":"accepted"}"#, 400), (#"{"until":"speed > 1"}"#, 400), (#"{"until":"open > -1"}"#, 400),
                (#"{"until":"open => 1"}"#, 400), (#"{"until":"open > 1","timeout":"11 min"}"#, 400), ("{}", 400),
                (#"{"until":"open > 1","timeout":"soon"}"#, 400), (#"{"until":"open > 1","proxy":"b"}"#, 404),
            ]
            for (body, status) in wrong {
                let answer = try await api.send(.post, "/v1/wait", body)
                #expect(answer.status == status, "\(body): \(answer.text)")
            }
        }
    }

    @Test func `the clock of the phases stops, steps, runs on and begins again`() async throws {
        try await withV1 { api in
            let profile = #"{"name":"p","phases":[{"name":"in","for":"1 h"},{"name":"out","for":"1 h"}],"repeat":true}"#
            try await api.create("a", #","profile":\#(profile)"#)
            func act(_ body: String) async throws -> V1Answer {
                try await api.send(.post, "/v1/proxies/a/clock", body)
            }
            let paused = try await act(#"{"action":"pause"}"#)
            #expect(paused.status == 200 && paused.flag("clock.paused") == true)
            #expect(paused.string("clock.phase") == "in" && paused.number("clock.period") == 7_200_000)
            let stepped = try await act(#"{"action":"step","phase":"out"}"#)
            #expect(stepped.string("clock.phase") == "out" && stepped.number("clock.milliseconds") == 3_600_000)
            let resumed = try await act(#"{"action":"resume"}"#)
            #expect(resumed.flag("clock.paused") == false && resumed.string("clock.phase") == "out")
            let restarted = try await act(#"{"action":"restart"}"#)
            #expect(restarted.string("clock.phase") == "in")
            // Another profile begins with its first phase.
            _ = try await act(#"{"action":"step","phase":"out"}"#)
            let other = try await api.send(.put, "/v1/proxies/a/profile", profile)
            #expect(other.string("clock.phase") == "in")
            for body in ["{}", #"{"action":"step"}"#, #"{"action":"step","phase":"x"}"#, #"{"action":"stop"}"#] {
                let wrong = try await act(body)
                #expect(wrong.status == 400, "\(body)")
            }
            _ = try await api.send(.patch, "/v1/proxies/a", #"{"enabled":false}"#)
            let disabled = try await act(#"{"action":"pause"}"#)
            #expect(disabled.status == 409)
        }
    }

    @Test func `a snapshot brings back proxies, profiles, faults and toxics`() async throws {
        try await withV1 { api in
            _ = try await api.send(.put, "/v1/profiles/mine", #"{"name":"mine","extends":"slow"}"#)
            let faults = #"[{"kind":"stall","at":"1 GiB","for":"1 s"}]"#
            try await api.create("a", #","seed":11,"profile":"mine","faults":\#(faults)"#)
            try await api.create("b", #","enabled":false"#)
            let toxic = #"{"name":"t","type":"latency","attributes":{"latency":5}}"#
            let added = try await api.send(.post, "/proxies/a/toxics", toxic)
            #expect(added.status == 200)
            _ = try await api.send(.put, "/v1/proxies/a/faults/short?for=1h", #"{"kind":"latency","delay":"1 ms"}"#)
            let snapshot = try await api.send(.get, "/v1/snapshot")
            #expect(snapshot.list("proxies.0.faults", "name") == ["stall"])
            for name in ["a", "b"] { _ = try await api.send(.delete, "/v1/proxies/\(name)") }
            _ = try await api.send(.delete, "/v1/profiles/mine")
            let restored = try await api.send(.put, "/v1/snapshot", snapshot.text)
            #expect(restored.status == 200 && restored.text == snapshot.text)
            let proxy = try await api.send(.get, "/v1/proxies/a")
            #expect(proxy.list("faults", "source") == ["profile", "extra", "toxic"] && proxy.number("seed") == 11)
            let other = try await api.send(.get, "/v1/proxies/b")
            #expect(other.flag("enabled") == false)
            let profile = try await api.send(.get, "/v1/profiles/mine")
            #expect(profile.list("faults", "kind") == ["latency"])
        }
    }

    @Test func `names that a snapshot couldn't have are refused, and a long one of Toxiproxy's API is restored`()
        async throws
    {
        try await withV1 { api in
            try await api.create("a")
            let fault = #"{"kind":"latency","delay":"1 ms"}"#
            let control = try await api.send(.put, "/v1/proxies/a/faults/b%0Bc", fault)
            #expect(control.status == 400 && control.string("detail").contains("control character"))
            let long = String(repeating: "n", count: 101)
            let body = #"{"name":"\#(long)","listen":"127.0.0.1:0","upstream":"127.0.0.1:9"}"#
            let refused = try await api.send(.post, "/v1/proxies", body)
            #expect(refused.status == 400)
            let made = try await api.send(.post, "/proxies", body)
            #expect(made.status == 201)
            let snapshot = try await api.send(.get, "/v1/snapshot")
            let restored = try await api.send(.put, "/v1/snapshot", snapshot.text)
            #expect(restored.status == 200 && restored.list("proxies", "name") == ["a", long])
        }
    }

    @Test func `of a snapshot that can't be restored nothing is taken`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            let before = try await api.send(.get, "/v1/snapshot")
            let (taken, address) = TestSocket.listening()
            let upstream = #""upstream":"127.0.0.1:1""#
            let wrong: [(String, Int)] = [
                (#"[{"name":"b","listen":"\#(address)",\#(upstream)}]"#, 409),
                (#"[{"name":"b",\#(upstream)},{"name":"b",\#(upstream)}]"#, 409),
                (#"[{"name":"b",\#(upstream),"toxics":[{"type":"x"}]}]"#, 400),
                (#"[{"name":"..",\#(upstream)}]"#, 400),
                (#"[{"name":"b",\#(upstream),"faults":[{"kind":"latency","delay":"1 ms","name":"."}]}]"#, 400),
                (#"[{"name":"b",\#(upstream),"toxics":[{"type":"noop","name":".."}]}]"#, 400),
                (#"[{"name":"b",\#(upstream),"profile":{"nam":""}}]"#, 422), ("{}", 400), ("{", 400),
            ]
            for (body, status) in wrong {
                let answer = try await api.send(.put, "/v1/snapshot", #"{"profiles":{},"proxies":\#(body)}"#)
                #expect(answer.status == status, "\(body): \(answer.text)")
                let after = try await api.send(.get, "/v1/snapshot")
                #expect(after.text == before.text)
            }
            taken.close()
        }
    }

    @Test func `a changed profile of the folder reaches its proxies, and a bad one is a problem`() async throws {
        try await withV1 { api in
            func source(_ delay: String) -> [String: ProfileSource] {
                let fault = #"{"kind":"latency","name":"l","delay":"\#(delay)"}"#
                let text = #"{"name":"live","extends":"slow","faults":[\#(fault)]}"#
                return ["live": ProfileSource(file: "live.json", text: text)]
            }
            let none = await api.v1.takeFolder(source("2 ms"))
            #expect(none.isEmpty)
            try await api.create("a", #","profile":"live""#)
            var reader = try StreamReader(await api.send(.get, "/v1/events"))
            _ = try await reader.part()
            let first = try await api.send(.get, "/v1/profiles").string("profiles.0.version")
            let changed = await api.v1.takeFolder(source("3 ms"))
            #expect(changed.isEmpty)
            let second = try await api.send(.get, "/v1/profiles").string("profiles.0.version")
            #expect(first.count == 16 && second.count == 16 && first != second)
            let proxy = try await api.send(.get, "/v1/proxies/a")
            #expect(proxy.list("faults", "text") == ["latency 1 ms", "latency 3 ms"])
            let reports = await api.v1.takeFolder(source("three"))
            #expect(reports.count == 1 && reports[0].hasPrefix("live.json:1:"))
            let again = await api.v1.takeFolder(source("three"))
            #expect(again.isEmpty)
            let problem = try await reader.next("problem")
            #expect(problem.answer.string("text").hasPrefix("profile live: live.json:1:"))
            let list = try await api.send(.get, "/v1/profiles")
            #expect(list.list("profiles", "source") == ["folder", "shipped"])
            #expect(list.list("profiles.0.problems", "message").count == 1)
            #expect(list.string("profiles.0.version") == second)
            // The last good text stays in use.
            let read = try await api.send(.get, "/v1/profiles/live")
            #expect(read.status == 200 && read.string("faults.1.delay") == "3 ms")
            let gone = await api.v1.takeFolder([:])
            let missing = try await api.send(.get, "/v1/profiles/live")
            #expect(gone.isEmpty && missing.status == 404)
        }
    }
}
