import FaultProfile
import Testing

@Suite struct FaultProblemTests {
    /// The kinds as messages list them.
    private static let kinds = FaultKind.Name.allCases.map { "“\($0.rawValue)”" }.joined(separator: ", ")

    @Test(arguments: [
        (
            "3",
            "2:1: a fault is an object, not a number (write “{ \"kind\": …, … }” with one of the kinds \(kinds))"
        ),
        (
            "{}",
            "2:1: a fault needs the key “kind” (add one of the kinds \(kinds))"
        ),
        (
            #"{ "kind": 3 }"#,
            "2:11: “kind” is one of \(kinds), not a number (write one of them)"
        ),
        (#"{ "kind": "bandwith" }"#, "2:11: “bandwith” is not a value of “kind” (write “bandwidth”)"),
        (
            #"{ "kind": "jitter" }"#,
            "2:11: “jitter” is not a value of “kind” (write “\"kind\": \"latency\", \"delay\": \"100 ms\", "
                + "\"jitter\": \"20 ms\"”)"
        ),
        (
            #"{ "kind": "teleport" }"#,
            "2:11: “teleport” is not a value of “kind” (its values are \(kinds))"
        ),
        (
            #"{ "kind": "latency" }"#,
            "2:1: a latency fault needs one of the keys “delay”, “quantiles” (add “\"delay\": \"250 ms\"”)"
        ),
        (
            #"{ "kind": "latency", "delay": true }"#,
            "2:31: “delay” is a text with a unit, not true or false (write one such "
                + "as “\"250 ms\"”)"
        ),
        (#"{ "kind": "latency", "delay": -5 }"#, "2:31: “-5” is negative (write zero or more, such as “250 ms”)"),
        (
            #"{ "kind": "latency", "delay": 1e3 }"#,
            "2:31: “1e3” has an exponent (write the number out, such as “250 ms”)"
        ),
        (
            #"{ "kind": "latency", "delay": "1 s", "teleport": "1 B/s" }"#,
            "2:38: a latency fault has no key “teleport” (its keys "
                + "are “kind”, “name”, “stream”, “when”, “delay”, “jitter”, “distribution”, "
                + "“quantiles”, “correlation”, “minimum”, “spikes”)"
        ),
        (
            #"{ "kind": "latency", "delay": "1 s", "stream": "down" }"#,
            "2:48: “down” is not a value of “stream” (write “downstream”)"
        ),
        (
            #"{ "kind": "bandwidth", "rate": "0 bit/s" }"#,
            "2:32: “rate” is zero (write a rate above zero, or use a “stall” "
                + "or an “outage” to let nothing pass)"
        ),
        (
            #"{ "kind": "bandwidth", "rate": "1 B/s", "burst": 65536 }"#,
            "2:50: “65536” has no unit (write “65536 B” or "
                + "“64 KiB”)"
        ),
        (
            #"{ "kind": "bandwidth", "rate": "1 B/s", "shared": 1 }"#,
            "2:51: “shared” is true or false, not a number (write "
                + "true or false, without quotes)"
        ),
        (#"{ "kind": "stall", "for": "0 ms" }"#, "2:27: “for” is zero (write a duration above zero, such as “250 ms”)"),
        (
            #"{ "kind": "cut" }"#,
            "2:1: a cut fault needs one of the keys “at”, “every”, “between”, “after”, “idle”, “pattern”, "
                + "“limit”, “traffic” (add “\"at\": \"64 KiB\"”)"
        ),
        (
            #"{ "kind": "cut", "limit": "1 B", "of": "body" }"#,
            "2:34: “limit” counts no bytes of a body (delete “of”)"
        ),
        (
            #"{ "kind": "cut", "traffic": "1 s", "of": "message" }"#,
            "2:36: “traffic” counts no bytes of a message (delete “of”)"
        ),
        (
            #"{ "kind": "cut", "limit": "1 B", "stream": "upstream", "when": { "http": {} } }"#,
            "2:56: “http” can't narrow a cut fault: its limit counts every byte (delete “http” from “when”)"
        ),
        (
            #"{ "kind": "cut", "traffic": "1 s", "when": { "http": {} } }"#,
            "2:36: “http” can't narrow a cut fault: any byte starts its time (delete “http” from “when”)"
        ),
        (
            #"{ "kind": "cut", "after": "1 s", "stream": "upstream" }"#,
            "2:44: a cut by time acts on the connection as a whole, not on the upstream direction alone "
                + "(delete “stream”)"
        ),
        (#"{ "kind": "cut", "idle": "0 s" }"#, "2:26: “idle” is zero (write a duration above zero, such as “250 ms”)"),
        (
            #"{ "kind": "corrupt", "at": "1 B", "rate": "1 %" }"#,
            "2:35: a corrupt fault has exactly one of the keys “at”, “between”, “rate” "
                + "(delete “rate”, and make a fault of its own of it)"
        ),
        (
            #"{ "kind": "corrupt", "rate": "0 %" }"#,
            "2:22: a rate of 0 % corrupts nothing (write “0.001 %”, or delete the fault)"
        ),
        (
            #"{ "kind": "truncate", "at": "1 B" }"#,
            "2:1: a truncate fault needs the key “bytes” (add “\"bytes\": \"64 KiB\"”)"
        ),
        (#"{ "kind": "cut", "at": [] }"#, "2:24: the list of offsets is empty (write “\"at\": \"64 KiB\"”)"),
        (#"{ "kind": "cut", "at": ["1 B", 2] }"#, "2:32: “2” has no unit (write “2 B” or “2 KiB”)"),
        (#"{ "kind": "cut", "every": "0 B" }"#, "2:27: “every” is zero (write a size above zero, such as “64 KiB”)"),
        (
            #"{ "kind": "cut", "between": "1 MB" }"#,
            "2:29: “between” is a list of two sizes, not a text (write the lower and "
                + "the upper offset: “[\"1 MB\", \"10 MB\"]”)"
        ),
        (
            #"{ "kind": "cut", "between": ["1 MB"] }"#,
            "2:29: “between” has 1 values, not two (write the lower and the upper "
                + "offset: “[\"1 MB\", \"10 MB\"]”)"
        ),
        (
            #"{ "kind": "cut", "between": ["2 MB", "1 MB"] }"#,
            "2:29: the lower offset, 2 MB, is above the upper one, 1 MB "
                + "(write the smaller one first)"
        ),
        (#"{ "kind": "cut", "at": "1 B", "how": "rset" }"#, "2:38: “rset” is not a value of “how” (write “reset”)"),
        (
            #"{ "kind": "cut", "after": "1 s", "of": "body" }"#,
            "2:34: “after” counts no bytes of a body (delete “of”)"
        ),
        (
            #"{ "kind": "cut", "at": "1 B", "of": "connexion" }"#,
            "2:37: “connexion” is not a value of “of” (write "
                + "“connection”)"
        ),
        (
            #"{ "kind": "cut", "pattern": { "hex": "123" } }"#,
            "2:29: “123” are no bytes in digits (write a text, or bytes as “{ \"hex\": \"16 03 01\" }”)"
        ),
        (
            #"{ "kind": "http", "drop": 101 }"#,
            "2:27: 101 ends HTTP on its connection, and can't be dropped (write another code, such as 104)"
        ),
        (
            #"{ "kind": "http", "drop": "2xx" }"#,
            "2:27: “2xx” are no codes from 100 to 199 (write 104 or “1xx”)"
        ),
        (
            #"{ "kind": "http", "answer": { "status": 503, "header": { "Connection": "close" } } }"#,
            "2:46: the proxy gives the field “Connection” itself (delete it)"
        ),
        (
            #"{ "kind": "http", "answer": { "status": 503 }, "stream": "downstream" }"#,
            "2:48: an http fault has a direction of its own: requests are answered, responses dropped (delete “stream”)"
        ),
        (
            #"{ "kind": "http", "answer": { "status": 304, "body": "x" } }"#,
            "2:46: an answer with the status 304 has no content (delete “body”, or write another status)"
        ),
        (
            #"{ "kind": "http", "drop": 104, "when": { "http": { "status": 200 } } }"#,
            "2:32: no response that is dropped has the “status” of this condition (delete “status”: “drop” says the codes)"
        ),
        (
            #"{ "kind": "latency", "delay": "1 s", "when": { "http": { "path": "/a b" } } }"#,
            "2:58: “/a b” is no path (begin it with “/”, as “/files/*”, and write no spaces)"
        ),
        (
            #"{ "kind": "latency", "delay": "5", "minimum": "1 s", "distribution": "log-normal" }"#,
            "2:31: “5” has no unit (write “5 ms” or “5 s”)"
        ),
        (
            #"{ "kind": "outage", "how": "reset", "when": { "http": { "method": "GET" } } }"#,
            "2:37: “http” can't narrow an outage fault: it takes away the network, not a message "
                + "(delete “http” from “when”)"
        ),
        (
            #"{ "kind": "stall", "for": "1 s", "stream": "upstream", "when": { "http": { "status": 206 } } }"#,
            "2:56: “status” tells of responses, and this fault acts on the stream of requests "
                + "(write “\"stream\": \"downstream\"”, or delete “status”)"
        ),
        (
            #"{ "kind": "outage", "how": "refuse", "stream": "upstream" }"#,
            "2:38: an outage that resets or refuses "
                + "connections acts on both directions (delete “stream”, or write “\"how\": \"silence\"”)"
        ),
        (
            #"{ "kind": "outage", "how": "reset", "stream": "downstream" }"#,
            "2:37: an outage that resets or refuses "
                + "connections acts on both directions (delete “stream”, or write “\"how\": \"silence\"”)"
        ),
        (
            #"{ "kind": "slice", "size": "1 KiB", "spread": "2 KiB" }"#,
            "2:47: the spread, 2 KiB, isn't below the size, 1 KiB (write a smaller one, so that a slice has a byte "
                + "at least)"
        ),
        (
            #"{ "kind": "slow-reader", "rate": "1 B/s", "window": "1 KiB" }"#,
            "2:53: a window of 1 KiB can't be had (write one from “4 KiB” to “64 MiB”)"
        ),
        (
            #"{ "kind": "slow-reader" }"#,
            "2:1: a slow-reader fault needs the key “rate” (add “\"rate\": \"20 Mbit/s\"”)"
        ),
        (#"{ "kind": "slice" }"#, "2:1: a slice fault needs the key “size” (add “\"size\": \"64 KiB\"”)"),
        (
            #"{ "kind": "outage", "how": "reset", "recovery": "tcp-backoff" }"#,
            "2:37: an outage that resets or refuses "
                + "connections leaves none to recover (delete “recovery”, or write “\"how\": \"silence\"”)"
        ),
        (
            #"{ "kind": "outage", "how": "silence", "rtt": "50 ms" }"#,
            "2:39: “rtt” is for the recovery “tcp-backoff” "
                + "only (delete it, or add “\"recovery\": \"tcp-backoff\"”)"
        ),
        (
            #"{ "kind": "loss", "rate": "1 %" }"#,
            "2:1: a loss fault needs the key “rtt” (add “\"rtt\": \"250 ms\"”)"
        ),
        (
            #"{ "kind": "loss", "rate": "1 %", "rtt": "1300000 h" }"#,
            "2:41: “rtt” is longer than a day (write a round trip, such as “60 ms”)"
        ),
        (
            #"{ "kind": "outage", "how": "silence", "recovery": "tcp-backoff", "rtt": "24.1 h" }"#,
            "2:73: “rtt” is longer than a day (write a round trip, such as “60 ms”)"
        ),
        (
            #"{ "kind": "loss", "rate": "1 %", "rtt": "0 s" }"#,
            "2:41: “rtt” is zero (write a duration above zero, such as “250 ms”)"
        ),
        (
            #"{ "kind": "loss", "rate": "100 %", "rtt": "50 ms" }"#,
            "2:27: a loss of 100 % lets nothing pass (use an “outage” with “\"how\": \"silence\"”)"
        ),
        (
            #"{ "kind": "loss", "rate": "80 %", "rtt": "50 ms", "burst": 3 }"#,
            "2:60: bursts of 3 can't make a loss of 80 %: what comes between them has no room (write a burst of 4 "
                + "or more)"
        ),
        (
            #"{ "kind": "loss", "rate": "1 %", "rtt": "50 ms", "burst": 0 }"#,
            "2:59: “burst” can't be 0 (write a whole number from 1 to 1000, without quotes)"
        ),
        (
            #"{ "kind": "loss", "rate": "1 %", "rtt": "50 ms", "sender": "vegas" }"#,
            "2:60: “vegas” is not a value of “sender” (its values are “reno”, “cubic”, “bbr”)"
        ),
        (
            #"{ "kind": "connect", "how": "delay" }"#,
            "2:1: a connect fault that delays needs the key “for” (add “\"for\": \"2 s\"”)"
        ),
        (
            #"{ "kind": "connect", "how": "hang", "for": "2 s" }"#,
            "2:37: “for” is for a connect fault that delays, not for “hang” (delete it, and put the fault into a phase "
                + "that lasts as long)"
        ),
        (
            #"{ "kind": "connect", "how": "close", "jitter": "2 s" }"#,
            "2:38: “jitter” is for a connect fault that delays, not for “close” (delete it)"
        ),
        (
            #"{ "kind": "connect", "how": "refuse", "stream": "upstream" }"#,
            "2:49: a connect fault acts on the connection as a whole, not on the upstream direction alone (delete “stream”)"
        ),
        (
            #"{ "kind": "connect", "how": "refuse", "when": { "age": "5 s" } }"#,
            "2:39: a connect fault acts when a connection begins, not from an age of 5 s on (delete “age”, or write a "
                + "“stall” or an “outage”)"
        ),
        (
            #"{ "kind": "connect", "how": "close", "when": { "age": "..5 s" } }"#,
            "2:38: a connect fault acts when a connection begins, and only one that hangs ends at an age of 5 s "
                + "(delete “age”, or write “\"how\": \"hang\"”)"
        ),
        (
            #"{ "kind": "connection-limit", "limit": 0 }"#,
            "2:40: “limit” can't be 0 (write a whole number from 1 to 1000000, without quotes)"
        ),
        (
            #"{ "kind": "connection-limit", "how": "hang" }"#,
            "2:1: a connection-limit fault needs the key “limit” (add “\"limit\": 100”)"
        ),
        (
            #"{ "kind": "connection-limit", "limit": 5, "when": { "chance": "5 %" } }"#,
            "2:43: a connection-limit fault counts every open connection, whichever it is (leave “clock”, "
                + "“duty” and “after” in “when”, and delete the rest)"
        ),
        (#"{ "kind": "slow-close" }"#, "2:1: a slow-close fault needs the key “by” (add “\"by\": \"250 ms\"”)"),
        (
            #"{ "kind": "discard", "close-after": "0 s" }"#,
            "2:37: “close-after” is zero (write a duration above zero, such as “250 ms”)"
        ),
        (
            #"{ "kind": "discard", "when": { "http": {} } }"#,
            "2:22: “http” can't narrow a discard fault: a connection that has lost bytes can't go on "
                + "(delete “http” from “when”)"
        ),
        (
            #"{ "kind": "half-open", "at": "1 B" }"#,
            "2:1: a half-open fault needs the key “stream” (add “\"stream\": \"upstream\" or \"downstream\"”)"
        ),
        (
            #"{ "kind": "half-open", "stream": "both", "at": "1 B" }"#,
            "2:34: a half-open connection is silent in one direction only (write “upstream” or “downstream”, or use a "
                + "“cut” with “\"how\": \"silence\"”)"
        ),
        (
            #"{ "kind": "half-open", "stream": "upstream" }"#,
            "2:1: a half-open fault needs one of the keys “at”, “after” (add “\"at\": \"64 KiB\"”)"
        ),
    ])
    func `a mistake in a fault is named with its place`(fault: String, problem: String) {
        #expect(problems(fault: fault) == [problem])
    }

    @Test(arguments: [
        ("3", "“when” is an object, not a number (write it in braces)", 0),
        (#"{ "conection": 3 }"#, "“when” has no key “conection” (write “connection”)", 2),
        (
            #"{ "connection": 0 }"#,
            "“connection” can't be 0 (write a whole number from 1 to 999999999999, without quotes)", 16
        ),
        (
            #"{ "connection": "3" }"#, "“3” is not a range of connections (write 3, “1..2”, “3..” or { \"every\": 3 })",
            16
        ),
        (
            #"{ "connection": "..3" }"#,
            "“..3” is not a range of connections (write 3, “1..2”, “3..” or { \"every\": 3 })", 16
        ),
        (
            #"{ "connection": "0..3" }"#,
            "“0..3” is not a range of connections (write 3, “1..2”, “3..” or { \"every\": 3 })",
            16
        ),
        (#"{ "connection": "3..1" }"#, "the range “3..1” ends before it begins (write “1..3”)", 16),
        (
            #"{ "connection": [1] }"#,
            "“connection” is a number, a range or a step, not a list (write 3, “1..2”, “3..” or "
                + "{ \"every\": 3 })", 16
        ),
        (#"{ "connection": {} }"#, "“connection” as a step needs the key “every” (add “\"every\": 3”)", 16),
        (
            #"{ "connection": { "every": 0 } }"#,
            "“every” can't be 0 (write a whole number from 1 to 999999999999, without "
                + "quotes)", 27
        ),
        (#"{ "chance": 0.2 }"#, "“0.2” has no percent sign (write “20 %”)", 12),
        (#"{ "chance": "120 %" }"#, "“120 %” is more than 100 % (write “100 %” or less)", 12),
        (#"{ "age": 5 }"#, "“5” has no unit (write “5 ms” or “5 s”)", 9),
        (
            #"{ "age": true }"#,
            "“age” is a text with a unit, not true or false (write “5 s” (from then on), “5 s..10 s” or "
                + "“..10 s”)", 9
        ),
        (#"{ "age": ".." }"#, "“..” is not an age (write “5 s” (from then on), “5 s..10 s” or “..10 s”)", 9),
        (#"{ "age": "5..10 s" }"#, "“5” has no unit (write “5 ms” or “5 s”)", 9),
        (
            #"{ "age": "10 s..5 s" }"#,
            "the age “10 s..5 s” ends where it begins, or before (write the smaller age first)", 9
        ),
        (#"{ "age": "..0 s" }"#, "the age “..0 s” ends where it begins, or before (write the smaller age first)", 9),
    ])
    func `a mistake in a condition is named with its place`(condition: String, problem: String, column: Int) {
        let prefix = #"{ "kind": "stall", "for": "1 s", "when": "#
        #expect(problems(fault: prefix + condition + " }") == ["2:\(prefix.count + 1 + column): \(problem)"])
    }

    @Test func `a name is given once only, and default names count`() {
        let text = """
            { "name": "x", "faults": [
            { "kind": "stall", "for": "1 s" },
            { "kind": "cut", "at": "1 B", "name": "stall" },
            { "kind": "cut", "at": "1 B", "name": "end" } ],
            "phases": [ { "name": "p", "faults": [
            { "kind": "cut", "at": "1 B", "name": "end" } ] } ] }
            """
        #expect(
            problems(text) == [
                "3:39: the fault name “stall” is taken by another one (line 2) "
                    + "(give this fault a “name” that no other has)",
                "6:39: the fault name “end” is taken by another one (line 4) "
                    + "(give this fault a “name” that no other has)",
            ]
        )
    }

    @Test func `a step of requests is one, and an answer has so many bytes, whatever its characters`() {
        let step = #"{ "kind": "cut", "at": "1 B", "of": "body", "when": { "http": { "request": { "evry": 3 } } } }"#
        #expect(problems(fault: step).last == "2:78: “request” as a step has no key “evry” (write “every”)")
        let body = String(repeating: "😀", count: 16_385)
        let answer = #"{ "kind": "http", "answer": { "status": 200, "body": "\#(body)" } }"#
        #expect(problems(fault: answer) == ["2:46: “body” has 65540 bytes, and 65536 are the most (shorten it)"])
    }
}
