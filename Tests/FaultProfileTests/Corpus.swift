/// Documents that are JSON, judged by the reader and by the schema.
enum Corpus {
    /// Both take these.
    static let valid =
        ["{ \"name\": \"x\" }"]
        + members([
            #""seed": 0"#, #""seed": 18446744073709551615"#, #""seed": 7.0"#, #""seed": 1e3"#, #""seed": -0"#,
            #""summary": """#, #""source": "a table""#, #""repeat": false"#, #""$schema": "anything""#,
            #""faults": []"#, #""phases": []"#,
            #""proxies": [ { "name": "p", "listen": "[::1]:0", "upstream": "a_b.c:65535" } ]"#,
            #""phases": [ { "name": "p" } ]"#, #""phases": [ { "name": "p", "for": "1 ns", "faults": [] } ]"#,
            #""summary": "\u0000""#,
        ])
        + faults([
            #""kind": "latency", "delay": "0 s""#, #""kind": "latency", "delay": "1.5µs", "jitter": "2 μs""#,
            #""kind": "latency", "delay": "1 h", "distribution": "normal", "name": "é", "stream": "both""#,
            #""kind": "bandwidth", "rate": "1 bit/s""#, #""kind": "bandwidth", "rate": "1.50kB/s", "burst": "0 B""#,
            #""kind": "bandwidth", "rate": "1   GiB/s", "shared": false"#,
            #""kind": "cut", "at": "0 B""#, #""kind": "cut", "at": ["0 B", "1 kB"]"#, #""kind": "cut", "every": "1 B""#,
            #""kind": "cut", "between": ["0 B", "0 B"], "how": "close", "of": "connection""#,
            #""kind": "stall", "for": "0.1 ms", "at": "1 GiB", "stream": "upstream""#,
            #""kind": "outage", "how": "silence", "stream": "downstream""#,
            #""kind": "outage", "how": "refuse", "stream": "both""#, #""kind": "outage", "how": "reset""#,
        ])
        + conditions([
            "{}", #"{ "connection": 1 }"#, #"{ "connection": 999999999999 }"#, #"{ "connection": "1..1" }"#,
            #"{ "connection": "3.." }"#, #"{ "connection": { "every": 1 } }"#, #"{ "chance": "0 %" }"#,
            #"{ "chance": "100.0%" }"#, #"{ "chance": "0099.99 %" }"#, #"{ "age": "5 s" }"#,
            #"{ "age": "0 s..1.5 s" }"#,
            #"{ "age": "..10 s" }"#, #"{ "age": "5s.." }"#,
            #"{ "age": "1 s..2 min", "chance": "1 %", "connection": 2 }"#,
        ])

    /// Both refuse these.
    static let invalid =
        ["[]", "3", "null", "{}", #"{ "name": "" }"#, #"{ "name": null }"#, #"{ "name": "a\tb" }"#, #"{ "nam": "x" }"#]
        + members([
            #""seed": -1"#, #""seed": 1.5"#, #""seed": "7""#, #""seed": null"#, #""summary": 3"#, #""repeat": "true""#,
            #""faults": {}"#, #""phases": [ 3 ]"#, #""phases": [ {} ]"#, #""extra": 1"#, #""extends": 3"#,
            #""phases": [ { "name": "p", "for": "0.0 s" } ]"#, #""phases": [ { "name": "p", "for": 5 } ]"#,
            #""phases": [ { "name": "p", "seconds": 5 } ]"#,
            #""proxies": [ { "name": "p", "listen": "h:0" } ]"#,
            #""proxies": [ { "name": "p", "listen": "h:0", "upstream": "h:0" } ]"#,
            #""proxies": [ { "name": "p", "listen": "h:00", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "h:65536", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": ":1", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "::1:1", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "a-:1", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "http://h:1", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "h:1\n", "upstream": "h:1" } ]"#,
        ])
        + faults([
            "", #""kind": "banana""#, #""kind": "latency""#, #""kind": "latency", "delay": "250""#,
            #""kind": "latency", "delay": 250"#, #""kind": "latency", "delay": "-1 ms""#,
            #""kind": "latency", "delay": "1 MS""#, #""kind": "latency", "delay": "1e3 ms""#,
            #""kind": "latency", "delay": ".5 s""#, #""kind": "latency", "delay": "5. s""#,
            #""kind": "latency", "delay": " 5 s""#, #""kind": "latency", "delay": "5 s ""#,
            #""kind": "latency", "delay": "5 s\n""#, #""kind": "latency", "delay": "1 s", "rate": "1 B/s""#,
            #""kind": "latency", "delay": "1 s", "stream": "down""#, #""kind": "latency", "delay": "1 s", "name": """#,
            #""kind": "bandwidth", "rate": "0 Mbit/s""#, #""kind": "bandwidth", "rate": "20 Mbps""#,
            #""kind": "bandwidth", "rate": "1 B""#, #""kind": "bandwidth", "rate": "1 \u212AB/s""#,
            #""kind": "bandwidth", "rate": "1 B/s", "shared": "no""#,
            #""kind": "cut""#, #""kind": "cut", "at": "1 B", "every": "1 B""#, #""kind": "cut", "at": []"#,
            #""kind": "cut", "at": ["1 B", 2]"#, #""kind": "cut", "every": "0 B""#, #""kind": "cut", "every": ["1 B"]"#,
            #""kind": "cut", "between": ["1 B"]"#, #""kind": "cut", "between": ["1 B", "2 B", "3 B"]"#,
            #""kind": "cut", "at": "1 B", "of": "body""#, #""kind": "cut", "at": "1 B", "how": "rst""#,
            #""kind": "stall""#, #""kind": "stall", "for": "0 s""#, #""kind": "outage""#,
            #""kind": "outage", "how": "reject""#, #""kind": "outage", "how": "refuse", "stream": "upstream""#,
            #""kind": "outage", "how": "reset", "stream": "downstream""#,
        ])
        + conditions([
            "3", #"{ "connection": 0 }"#, #"{ "connection": 1.5 }"#, #"{ "connection": "3" }"#,
            #"{ "connection": "..3" }"#,
            #"{ "connection": "01..3" }"#, #"{ "connection": 1000000000000 }"#,
            #"{ "connection": "1..1000000000000" }"#,
            #"{ "connection": { "every": 0 } }"#, #"{ "connection": {} }"#, #"{ "connection": [] }"#,
            #"{ "chance": 0.2 }"#, #"{ "chance": "0.2" }"#, #"{ "chance": "101 %" }"#, #"{ "chance": "100.01 %" }"#,
            #"{ "age": 5 }"#, #"{ "age": "" }"#, #"{ "age": ".." }"#, #"{ "age": "5..6 s" }"#,
            #"{ "age": "5 s...6 s" }"#,
            #"{ "ago": "5 s" }"#,
        ])

    /// The reader refuses these by rules between values, or about a value's size, that patterns lack.
    static let beyondSchema =
        members([
            #""phases": [ { "name": "a" }, { "name": "b" } ]"#, #""extends": """#, #""extends": "other""#,
            #""phases": [ { "name": "a", "for": "1 s" }, { "name": "a" } ]"#,
            #""proxies": [ { "name": "p", "listen": "1.2.3.256:0", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "[::1::]:0", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "a..b:0", "upstream": "h:1" } ]"#,
        ])
        + faults([
            #""kind": "latency", "delay": "0.5 ns""#, #""kind": "latency", "delay": "99999999999 h""#,
            #""kind": "cut", "between": ["2 B", "1 B"]"#,
        ])
        + conditions([
            #"{ "connection": "2..1" }"#, #"{ "age": "2 s..1 s" }"#, #"{ "age": "1 s..1 s" }"#,
        ])

    private static func members(_ members: [String]) -> [String] {
        members.map { "{ \"name\": \"x\", \($0) }" }
    }

    private static func faults(_ faults: [String]) -> [String] {
        members(faults.map { "\"faults\": [ { \($0) } ]" })
    }

    private static func conditions(_ conditions: [String]) -> [String] {
        faults(conditions.map { "\"kind\": \"stall\", \"for\": \"1 s\", \"when\": \($0)" })
    }
}
