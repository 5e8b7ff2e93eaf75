import HTTPTypes
import TestSockets
import Testing

@testable import ControlAPI

/// Connections and metrics of the `/v1` API.
@Suite(.timeLimit(.minutes(2))) struct V1ConnectionTests {
    @Test func `connections are listed for all proxies or one, up to a limit`() async throws {
        try await withV1 { api in
            try await api.create("a", #","profile":"slow""#)
            try await api.create("b")
            try await api.create("off", #","enabled":false"#)
            var clients: [TestSocket] = []
            for name in ["a", "a", "b"] { clients.append(try await api.client(of: name)) }
            let all = try await api.send(.get, "/v1/connections")
            #expect(all.list("connections", "proxy") == ["a", "a", "b"] && all.number("total") == 3)
            #expect(all.number("connections.0.number") == 1 && all.string("connections.0.state") == "open")
            #expect(all.string("connections.0.client") == "\(clients[0].localAddress)")
            #expect(all.number("connections.0.upstreamBytes") == 1 && all.number("connections.0.downstreamBytes") == 1)
            #expect(all.value("connections.0.faults") as? [String] == ["latency"])
            let one = try await api.send(.get, "/v1/connections?proxy=b")
            #expect(one.list("connections", "proxy") == ["b"])
            let part = try await api.send(.get, "/v1/connections?limit=2")
            #expect(part.list("connections", "proxy") == ["a", "a"] && part.number("total") == 3)
            let missing = try await api.send(.get, "/v1/connections?proxy=c")
            #expect(missing.status == 404)
            for limit in ["0", "10001"] {
                let wrong = try await api.send(.get, "/v1/connections?limit=\(limit)")
                #expect(wrong.status == 400)
            }
            for client in clients { client.close() }
        }
    }

    @Test(arguments: ["", "?how=close", "?how=reset"])
    func `a connection is ended by its number`(how: String) async throws {
        try await withV1 { api in
            try await api.create("a")
            let client = try await api.client(of: "a")
            let ended = try await api.send(.delete, "/v1/proxies/a/connections/1\(how)")
            #expect(ended.status == 204)
            let ending = try await blocking { client.receiveAll().ending }
            #expect(ending == (how == "?how=reset" ? .reset : .finish))
            client.close()
            let again = try await api.send(.delete, "/v1/proxies/a/connections/9\(how)")
            #expect(again.status == 404 && again.string("code") == "connection-not-found")
            for path in ["x", "1?how=softly"] {
                let wrong = try await api.send(.delete, "/v1/proxies/a/connections/\(path)")
                #expect(wrong.status == 400)
            }
        }
    }

    @Test func `metrics count bytes as Toxiproxy does, and connections, faults and lateness`() async throws {
        try await withV1(loops: 2) { api in
            try await api.create(#"d\"b"#, #","profile":"slow""#)
            let client = try await api.client(of: "d%22b")
            let answer = try await api.send(.get, "/metrics")
            #expect(answer.status == 200 && answer.fields[.contentType] == PrometheusText.type)
            let lines = answer.text.split(separator: "\n").map(String.init)
            let proxy = #"proxy="d\"b""#
            for start in ["toxiproxy_proxy_received_bytes_total", "toxiproxy_proxy_sent_bytes_total"] {
                let found = lines.filter { $0.hasPrefix(#"\#(start){direction="upstream",listener="127.0.0.1:"#) }
                #expect(found.count == 1 && found[0].hasSuffix(#"",\#(proxy),upstream="\#(api.upstream)"} 1"#))
            }
            #expect(lines.contains("squall_connections_open{\(proxy)} 1"))
            #expect(lines.contains("squall_connections_accepted_total{\(proxy)} 1"))
            #expect(lines.contains("squall_connections_failed_total{\(proxy)} 0"))
            #expect(lines.contains(#"squall_fault_events_total{\#(proxy),kind="latency"} 2"#))
            #expect(lines.contains("squall_held_bytes{\(proxy)} 0"))
            #expect(lines.contains { $0.hasPrefix(#"squall_loop_lag_seconds_bucket{loop="1",le="+Inf"} "#) })
            #expect(lines.contains { $0.hasPrefix(#"squall_loop_lag_seconds_bucket{loop="0",le="0.001"} "#) })
            #expect(lines.contains { $0.hasPrefix(#"squall_loop_lag_seconds_count{loop="0"} "#) })
            for line in lines where line.hasPrefix("# TYPE ") {
                let name = line.split(separator: " ")[2]
                #expect(lines.filter { $0.hasPrefix("# TYPE \(name) ") }.count == 1)
            }
            client.close()
        }
    }

    @Test func `values of labels are escaped`() {
        #expect(PrometheusText.escaped("a\\b\"c\nd") == #"a\\b\"c\nd"#)
        // Each is a part of a larger character here.
        #expect(PrometheusText.escaped("a\r\nb") == "a\r\\nb")
        #expect(PrometheusText.escaped("q\"\u{301}b\\\u{301}") == "q\\\"\u{301}b\\\\\u{301}")
    }
}
