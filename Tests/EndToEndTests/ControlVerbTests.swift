import Foundation
import Testing

/// The requests of `squall ctl` to `/v1`, and its output, on a server that records them.
@Suite(.timeLimit(.minutes(5))) struct ControlVerbTests {
    /// The outcome of a command, and the first line and the content of its last request.
    private func outcome(
        of arguments: [String],
        _ content: String,
        status: Int = 200
    ) async throws -> (outcome: Outcome, request: String, body: String) {
        let answer: @Sendable (String) -> (status: Int, content: String) = { _ in (status, content) }
        return try await RecordingServer.answering(answer) { server in
            let words = ["ctl"] + arguments + ["--host", "http://127.0.0.1:\(server.port)"]
            let outcome = try await squall(words)
            let request = try #require(server.heads.last, "\(outcome)")
            let parts = request.components(separatedBy: "\r\n\r\n")
            return (outcome, String(request.prefix { $0 != "\r\n" }), parts.count > 1 ? parts[1] : "")
        }
    }

    @Test(arguments: [
        (["apply", "wifi-roam"], "PUT /v1/profile", #""wifi-roam""#, "Applied profile wifi-roam to all proxies"),
        (["apply", "lte", "a:1"], "PUT /v1/proxies/a:1/profile", #""lte""#, "Applied profile lte to proxy a:1"),
        (
            ["fault", "set", "db", "slow", "kind=latency", "delay=200 ms", "--for", "3s"],
            "PUT /v1/proxies/db/faults/slow?for=3%20s", #"{"kind":"latency","delay":"200 ms"}"#,
            "Set fault slow on proxy db for 3 s"
        ),
        (
            ["fault", "set", "--all", "off", #"{"kind": "outage"}"#],
            "PUT /v1/faults/off", #"{"kind": "outage"}"#, "Set fault off on all proxies"
        ),
        (
            ["fault", "remove", "db", "a b"], "DELETE /v1/proxies/db/faults/a%20b", "",
            "Removed fault a b from proxy db"
        ),
        (
            ["fault", "add", "--for", "3s", "db", "slow", "kind=latency", "delay=200 ms"],
            "PUT /v1/proxies/db/faults/slow?for=3%20s", #"{"kind":"latency","delay":"200 ms"}"#,
            "Set fault slow on proxy db for 3 s"
        ),
        (
            ["--for", "3s", "fault", "--all", "add", "off", "kind=outage"],
            "PUT /v1/faults/off?for=3%20s", #"{"kind":"outage"}"#, "Set fault off on all proxies for 3 s"
        ),
        (["down", "db"], "POST /proxies/db", #"{"enabled":false}"#, "Proxy db is now disabled"),
        (["up", "db"], "POST /proxies/db", #"{"enabled":true}"#, "Proxy db is now enabled"),
        (
            ["down", "--for", "10s", "db"], "PUT /v1/proxies/db/faults/down?for=10%20s",
            #"{"kind":"outage","how":"refuse"}"#, "Proxy db is down for 10 s"
        ),
        (
            ["create", "-u", ":543", "db", "-l", ":0"], "POST /proxies",
            #"{"name":"db","listen":"127.0.0.1:0","upstream":"127.0.0.1:543","enabled":true}"#, "Created new proxy db"
        ),
        (
            ["toxic", "remove", "-n", "a/b", "db"], "DELETE /proxies/db/toxics/a%2Fb", "",
            "Removed toxic 'a/b' on proxy 'db'"
        ),
        (["reset"], "POST /reset", "", "Enabled every proxy and removed every toxic"),
        (["reset", "--all"], "POST /v1/reset", "", "Enabled every proxy and removed every toxic, profile and fault"),
        (
            ["wait", "--baseline", "2", "db", "faults >= 1"], "POST /v1/wait",
            #"{"proxy":"db","until":"faults >= 1","timeout":"10 s","baseline":2}"#, "faults >= 1 holds (3)"
        ),
        (
            ["wait", "db", "faults >= 1", "--baseline=now"], "POST /v1/wait",
            #"{"proxy":"db","until":"faults >= 1","timeout":"10 s","baseline":"now"}"#, "faults >= 1 holds (3)"
        ),
        (["fault", "remove", "--all", "off"], "DELETE /v1/faults/off", "", "Removed fault off from all proxies"),
        (
            ["end", "db", "17"], "DELETE /v1/proxies/db/connections/17?how=close", "",
            "Closed connection 17 of proxy db"
        ),
        (
            ["end", "db", "17", "--reset"],
            "DELETE /v1/proxies/db/connections/17?how=reset", "", "Reset connection 17 of proxy db"
        ),
        (
            ["wait", "db", "connections >= 3", "--timeout", "2s"],
            "POST /v1/wait", #"{"proxy":"db","until":"connections >= 3","timeout":"2 s"}"#,
            "connections >= 3 holds (3)"
        ),
    ])
    func `a verb makes its request and says what it has done`(
        arguments: [String],
        request: String,
        body: String,
        output: String
    ) async throws {
        let result = try await outcome(of: arguments, #"{"held":true,"value":3}"#)
        #expect(result.outcome.status == 0, "\(result.outcome.errors)")
        #expect(result.request == request + " HTTP/1.1")
        #expect(result.body == body)
        #expect(result.outcome.output == output + "\n")
        let json = try await outcome(of: arguments + ["--json"], #"{"held":true,"value":3}"#)
        #expect(json.outcome.output == #"{"held":true,"value":3}"# + "\n")
    }

    @Test func `a condition that doesn't hold in time is exit 1`() async throws {
        let result = try await outcome(of: ["wait", "db", "open == 0"], #"{"status":408,"detail":"no"}"#, status: 408)
        #expect(result.outcome.status == 1)
        #expect(result.outcome.errors == "open == 0 didn't hold within 10 s\n")
        #expect(result.body.contains(#""timeout":"10 s""#))
    }

    @Test(arguments: [
        "list", "inspect db", "create -l :0 -u :9 db", "toggle db", "up db", "down db", "down db --for 3s", "delete db",
        "toxic add -t latency db", "toxic update -n x db", "toxic remove -n x db", "apply slow-3g db",
        "fault set db f kind=outage", "fault remove db f", "end db 1", "wait db open>0", "reset", "reset --all",
        "restore FILE", "populate FILE", "profiles", "connections", "journal", "journal -f", "snapshot",
    ])
    func `a server that isn't one of Squall is exit 1, whatever it takes`(line: String) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file.json").path
            try (line.hasPrefix("populate") ? "[]" : "{}").write(toFile: file, atomically: true, encoding: .utf8)
            let words = line.split(separator: " ").map { $0 == "FILE" ? file : String($0) }
            for content in ["<!doctype html><title>app</title>", ""] {
                let result = try await outcome(of: words, content)
                #expect(result.outcome.status == 1 && result.outcome.output.isEmpty, "\(result.outcome)")
                #expect(result.outcome.errors.contains(" is no squall serve: "), "\(result.outcome)")
            }
        }
    }

    @Test func `a wait is over when the server says so`() async throws {
        let result = try await outcome(of: ["wait", "db", "open == 0"], #"{"value":3}"#)
        #expect(result.outcome.status == 1 && result.outcome.output.isEmpty)
        #expect(result.outcome.errors == "Failed to wait: the response doesn't say that open == 0 holds\n")
    }

    @Test func `the file of a profile is sent with what it extends`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("mine.json")
            try Data(#"{"name": "mine", "extends": "slow-3g"}"#.utf8).write(to: file)
            let result = try await outcome(of: ["apply", file.path], "{}")
            #expect(result.outcome.status == 0, "\(result.outcome.errors)")
            #expect(result.body.hasPrefix(#"{"name":"mine""#))
            #expect(result.body.contains(#""kind":"bandwidth""#))
            #expect(!result.body.contains("extends"))
            let snapshot = try await outcome(of: ["restore", file.path], "{}")
            #expect(snapshot.request == "PUT /v1/snapshot HTTP/1.1")
            #expect(snapshot.body == #"{"name": "mine", "extends": "slow-3g"}"#)
            try Data("[]".utf8).write(to: file)
            let list = try await outcome(
                of: ["populate", file.path],
                #"{"proxies":[{"name":"b","listen":"l","upstream":"u","enabled":false,"toxics":[{}]}]}"#
            )
            #expect(list.request == "POST /v1/populate HTTP/1.1")
            #expect(list.outcome.output == "b\tl\tu\tdisabled\t1\n")
        }
    }

    @Test func `a Toxiproxy gets the list of proxies in its way, and a warning says what it leaves out`() async throws {
        let answer: @Sendable (String) -> (status: Int, content: String) = { line in
            line.contains("/v1/") ? (404, "404 page not found\n") : (201, #"{"proxies":[]}"#)
        }
        try await withFolder { folder in
            let file = folder.appendingPathComponent("proxies.json")
            try Data(#"[{"name":"a","upstream":"u:1","toxics":[{"type":"noop"}]}]"#.utf8).write(to: file)
            try await RecordingServer.answering(answer) { server in
                let outcome = try await squall("ctl", "populate", file.path, "-h", "127.0.0.1:\(server.port)")
                #expect(outcome.status == 0)
                #expect(outcome.errors == "squall: the server takes no toxics from a file, and has left out 1\n")
                #expect(
                    server.heads.map { $0.prefix(while: { $0 != "\r\n" }) }.map(String.init) == [
                        "POST /v1/populate HTTP/1.1", "POST /populate HTTP/1.1",
                    ]
                )
            }
        }
    }

    @Test func `connections that a fault of HTTP doesn't reach are named`() async throws {
        let proxy = #"{"connections":{"open":3,"joining":2,"unread":1}}"#
        let one = try await outcome(of: ["fault", "set", "db", "f", "kind=http"], proxy)
        #expect(
            one.outcome.errorLines == [
                "squall: faults of HTTP act on 2 open connections from the next request on",
                "squall: faults of HTTP don't act on 1 open connection, not read as HTTP/1",
            ]
        )
        let all = try await outcome(of: ["apply", "flaky-api"], #"{"proxies":[\#(proxy),\#(proxy)]}"#)
        #expect(
            all.outcome.errorLines.first == "squall: faults of HTTP act on 4 open connections from the next request on"
        )
    }

    @Test func `connections and profiles are lines with tabs`() async throws {
        let connection =
            #"{"proxy":"db","number":17,"client":"c","age":5,"upstreamBytes":1,"downstreamBytes":2,"#
            + #""state":"open","faults":["latency","cut"]}"#
        let connections = try await outcome(of: ["connections", "db"], #"{"connections":[\#(connection)],"total":3}"#)
        #expect(connections.request == "GET /v1/connections?proxy=db HTTP/1.1")
        #expect(connections.outcome.output == "db\t17\tc\topen\t5\t1\t2\tlatency,cut\n")
        #expect(connections.outcome.errors == "squall: 2 more connections aren't listed\n")
        let profiles = try await outcome(
            of: ["profiles"],
            #"{"profiles":[{"name":"p","summary":"A\tline","source":"shipped","problems":[]}]}"#
        )
        #expect(profiles.outcome.output == "p\tshipped\t0\tA\\u{9}line\n")
        let snapshot = try await outcome(of: ["snapshot"], "{\"proxies\":[]}")
        #expect(snapshot.outcome.output == "{\"proxies\":[]}\n")
    }

    @Test func `the journal goes on where the list ends, until the server does`() async throws {
        let event =
            #"{"id":41,"time":"T","proxy":"db","connection":7,"direction":"downstream","fault":"f","kind":"cut","#
            + #""what":"closed","offset":9}"#
        let other = event.replacing("\"db\"", with: "\"web\"")
        let answer: @Sendable (String) -> (status: Int, content: String) = { line in
            line.contains("/v1/events")
                ? (
                    200,
                    "event: sample\ndata: {}\n\nevent: lost\ndata: {\"lost\":5}\n\nevent: fault\nid: 42\ndata: \(event)\n\nevent: fault\ndata: \(other)\n\n"
                )
                : (200, #"{"events":[\#(event)],"next":41,"lost":3}"#)
        }
        try await RecordingServer.answering(answer) { server in
            let outcome = try await squall(words: "ctl journal -f --proxy db --host 127.0.0.1:\(server.port)")
            let line = "T\tdb\t7\tdownstream\tf\tclosed\t9\n"
            #expect(outcome.output == line + line)
            #expect(outcome.status == 1)
            #expect(
                outcome.errorLines == [
                    "squall: 3 earlier events are no longer kept", "squall: 5 earlier events are no longer kept",
                    "Failed to follow the journal: the server has ended",
                ]
            )
            try #require(server.heads.count == 2)
            #expect(server.heads[0].hasPrefix("GET /v1/journal?limit=10000&proxy=db "))
            #expect(server.heads[1].hasPrefix("GET /v1/events?samples=10000 "))
            #expect(server.heads[1].contains("\r\nLast-Event-ID: 41\r\n"))
        }
    }
}
