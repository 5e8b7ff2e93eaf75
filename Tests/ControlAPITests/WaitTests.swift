import HTTPTypes
import Testing

@testable import ControlAPI

/// Waits for conditions, and their clients.
@Suite(.timeLimit(.minutes(2))) struct WaitTests {
    private let endless = #"{"proxy":"a","until":"accepted >= 1000","timeout":"10 min"}"#

    @Test func `a wait ends when its client is gone`() async throws {
        try await withV1 { api in
            try await api.create("a")
            let client = ClientPresence()
            async let waiting = api.send(.post, "/v1/wait", endless, client: client)
            client.leave()
            #expect(try await waiting.status == 503)
            let gone = try await api.send(.post, "/v1/wait", endless, client: client)
            #expect(gone.status == 503)
        }
    }

    @Test func `an event stream ends when its client is gone, and its place is free at once`() async throws {
        try await withV1 { api in
            let clients = (0..<64).map { _ in ClientPresence() }
            var readers: [StreamReader] = []
            for client in clients {
                readers.append(try StreamReader(await api.send(.get, "/v1/events", client: client)))
            }
            clients[0].leave()
            let next = try await api.send(.get, "/v1/events")
            #expect(next.status == 200)
            while try await readers[0].part() != nil {}
        }
    }

    @Test func `a wait ends when its proxy is removed, and when the server stops`() async throws {
        try await withV1 { api in
            try await api.create("a")
            try await api.create("b")
            async let waiting = api.send(.post, "/v1/wait", endless)
            async let all = api.send(.post, "/v1/wait", #"{"until":"failed > 0","timeout":"10 min"}"#)
            _ = try await api.send(.delete, "/v1/proxies/a")
            #expect(try await waiting.status == 404)
            api.journal.notices.stop()
            #expect(try await all.status == 503)
        }
    }

    @Test func `waits for each counter are told of its changes`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            let dead = #"{"name":"dead","listen":"127.0.0.1:0","upstream":"127.0.0.1:9"}"#
            let made = try await api.send(.post, "/v1/proxies", dead)
            #expect(made.status == 201)
            @Sendable func wait(_ proxy: String, _ condition: String) async throws -> Int {
                let body = #"{"proxy":"\#(proxy)","until":"\#(condition)","timeout":"10 min"}"#
                return try await api.send(.post, "/v1/wait", body).status
            }
            async let waits = [
                wait("a", "accepted >= 1"), wait("a", "open >= 1"), wait("a", "faults >= 2"), wait("a", "bytes >= 2"),
            ]
            let client = try await api.client(of: "a")
            #expect(try await waits == [200, 200, 200, 200])
            async let closed = wait("a", "open == 0")
            client.close()
            #expect(try await closed == 200)
            async let failed = wait("dead", "failed >= 1")
            _ = try? await api.client(of: "dead")
            #expect(try await failed == 200)
        }
    }
}
