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
            #""phases": [ { "name": "p", "for": "2 s", "jitter": "1.9 s" } ]"#,
            #""phases": [ { "name": "p", "for": "2 s", "jitter": "0 s" } ]"#,
            #""faults": [ { "kind": "cut", "at": "1 B" }, { "kind": "stall", "for": "1 s", "when": { "after": "cut" } } ]"#,
            #""summary": "\u0000""#,
        ])
        + faults([
            #""kind": "latency", "delay": "0 s""#, #""kind": "latency", "delay": "1.5µs", "jitter": "2 μs""#,
            #""kind": "latency", "delay": "1 h", "distribution": "normal", "name": "é", "stream": "both""#,
            #""kind": "latency", "delay": "1 h", "distribution": "log-normal", "correlation": "25 %", "minimum": "1 h""#,
            #""kind": "latency", "quantiles": ["0 s", "0 s"]"#,
            #""kind": "bandwidth", "wave": { "low": "1 B/s", "high": "2 B/s", "period": "24 h" }, "per": "global""#,
            #""kind": "bandwidth", "rate": "1 B/s", "per": "client", "steps": [ { "after": "1 s", "rate": "1 B/s" } ]"#,
            #""kind": "bandwidth", "rate": "1 B/s", "repeat": "2 s", "steps": [ { "after": "1 s", "rate": "1 B/s" } ]"#,
            #""kind": "latency", "delay": "1 s", "quantiles": ["1 s", "2 s", "2 s"], "minimum": "1 min""#,
            #""kind": "latency", "delay": "0 s", "spikes": { "every": "2 s", "for": "1 s", "extra": "1 ns" }"#,
            #""kind": "bandwidth", "rate": "1 bit/s""#, #""kind": "bandwidth", "rate": "1.50kB/s", "burst": "0 B""#,
            #""kind": "bandwidth", "rate": "1   GiB/s", "shared": false"#,
            #""kind": "cut", "at": "0 B""#, #""kind": "cut", "at": ["0 B", "1 kB"]"#, #""kind": "cut", "every": "1 B""#,
            #""kind": "cut", "between": ["0 B", "0 B"], "how": "close", "of": "connection""#,
            #""kind": "stall", "for": "0.1 ms", "at": "1 GiB", "stream": "upstream""#,
            #""kind": "outage", "how": "silence", "stream": "downstream""#,
            #""kind": "outage", "how": "refuse", "stream": "both""#, #""kind": "outage", "how": "reset""#,
            #""kind": "cut", "after": "1 ns""#, #""kind": "cut", "idle": "5 min", "how": "close", "stream": "both""#,
            #""kind": "corrupt", "at": "0 B""#, #""kind": "corrupt", "between": ["0 B", "1 GiB"]"#,
            #""kind": "corrupt", "rate": "0.0001 %", "stream": "upstream""#, #""kind": "corrupt", "rate": "100 %""#,
            #""kind": "truncate", "bytes": "1 B""#, #""kind": "truncate", "at": "1 MiB", "bytes": "1 MiB""#,
            #""kind": "trace", "file": "traces/12mbit.trace""#,
            #""kind": "trace", "file": "traces/12mbit.trace", "queue": "1500 B", "stream": "upstream""#,
            #""kind": "slow-reader", "rate": "1 B/s""#, #""kind": "slow-reader", "rate": "1 B/s", "window": "4 KiB""#,
            #""kind": "slice", "size": "1 B""#, #""kind": "slice", "size": "2 B", "spread": "1 B", "pause": "0 s""#,
            #""kind": "outage", "how": "silence", "recovery": "tcp-backoff", "rtt": "50 ms""#,
            #""kind": "outage", "how": "reset", "recovery": "immediate""#,
            #""kind": "loss", "rate": "0 %", "rtt": "1 ns""#,
            #""kind": "loss", "rate": "83 %", "burst": 5, "rtt": "50 ms", "sender": "bbr", "link": "1 Gbit/s""#,
        ])
        + conditions([
            "{}", #"{ "connection": 1 }"#, #"{ "connection": 999999999999 }"#, #"{ "connection": "1..1" }"#,
            #"{ "connection": "3.." }"#, #"{ "connection": { "every": 1 } }"#, #"{ "chance": "0 %" }"#,
            #"{ "chance": "100.0%" }"#, #"{ "chance": "0099.99 %" }"#, #"{ "age": "5 s" }"#,
            #"{ "age": "0 s..1.5 s" }"#,
            #"{ "age": "..10 s" }"#, #"{ "age": "5s.." }"#,
            #"{ "age": "1 s..2 min", "chance": "1 %", "connection": 2 }"#,
            #"{ "client": "127.0.0.1" }"#, #"{ "client": ["::1", "10.0.0.0/8", "fd00::/8", "0.0.0.0/0", "::/0"] }"#,
            #"{ "client": "::ffff:192.0.2.7" }"#, #"{ "client": "1:2:3:4:5:6:7:8/128", "clock": "0 s" }"#,
            #"{ "clock": "5 s..10 s" }"#, #"{ "clock": "..1 min" }"#, #"{ "clock": "1.5 s..", "age": "2 s" }"#,
            #"{ "duty": { "on": "2 s", "off": "8 s" } }"#,
            #"{ "duty": { "on": "1 ns", "off": "1 h", "offset": "0 s" } }"#,
            #"{ "duty": { "off": "1 s", "on": "1 s", "offset": "1 min" }, "clock": "1 s" }"#,
        ])

    /// Both refuse these.
    static let invalid =
        ["[]", "3", "null", "{}", #"{ "name": "" }"#, #"{ "name": null }"#, #"{ "name": "a\tb" }"#, #"{ "nam": "x" }"#]
        + members([
            #""seed": -1"#, #""seed": 1.5"#, #""seed": "7""#, #""seed": null"#, #""summary": 3"#, #""repeat": "true""#,
            #""faults": {}"#, #""phases": [ 3 ]"#, #""phases": [ {} ]"#, #""extra": 1"#, #""extends": 3"#,
            #""phases": [ { "name": "p", "for": "0.0 s" } ]"#, #""phases": [ { "name": "p", "for": 5 } ]"#,
            #""phases": [ { "name": "p", "seconds": 5 } ]"#,
            #""phases": [ { "name": "p", "for": "2 s", "jitter": 1 } ]"#,
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
            #""kind": "latency", "jitter": "1 s""#, #""kind": "latency", "delay": "1 s", "distribution": "lognormal""#,
            #""kind": "latency", "quantiles": []"#, #""kind": "latency", "quantiles": ["1 s"]"#,
            #""kind": "latency", "quantiles": "1 s""#, #""kind": "latency", "quantiles": [1, 2]"#,
            #""kind": "latency", "delay": "1 s", "correlation": 0.2"#,
            #""kind": "latency", "delay": "1 s", "minimum": 2"#,
            #""kind": "latency", "delay": "1 s", "spikes": true"#, #""kind": "latency", "delay": "1 s", "spikes": {}"#,
            #""kind": "latency", "delay": "1 s", "spikes": { "every": "0 s", "for": "1 s", "extra": "1 s" }"#,
            #""kind": "latency", "delay": "1 s", "spikes": { "every": "9 s", "for": "1 s", "extra": "0 s" }"#,
            #""kind": "bandwidth", "rate": "0 Mbit/s""#, #""kind": "bandwidth", "rate": "20 Mbps""#,
            #""kind": "bandwidth", "rate": "1 B""#, #""kind": "bandwidth", "rate": "1 \u212AB/s""#,
            #""kind": "bandwidth", "rate": "1 B/s", "shared": "no""#,
            #""kind": "bandwidth""#, #""kind": "bandwidth", "rate": "1 B/s", "per": "server""#,
            #""kind": "bandwidth", "rate": "1 B/s", "steps": []"#,
            #""kind": "bandwidth", "rate": "1 B/s", "steps": [ 3 ]"#,
            #""kind": "bandwidth", "rate": "1 B/s", "steps": [ { "after": "0 s", "rate": "1 B/s" } ]"#,
            #""kind": "bandwidth", "rate": "1 B/s", "steps": [ { "after": "1 s" } ]"#,
            #""kind": "bandwidth", "rate": "1 B/s", "repeat": true"#, #""kind": "bandwidth", "wave": "1 s""#,
            #""kind": "bandwidth", "wave": { "low": "1 B/s", "high": "2 B/s" }"#,
            #""kind": "bandwidth", "rate": "1 B/s", "wave": { "low": "1 B/s", "high": "2 B/s", "period": "1 s" }"#,
            #""kind": "cut""#, #""kind": "cut", "at": "1 B", "every": "1 B""#, #""kind": "cut", "at": []"#,
            #""kind": "cut", "at": ["1 B", 2]"#, #""kind": "cut", "every": "0 B""#, #""kind": "cut", "every": ["1 B"]"#,
            #""kind": "cut", "between": ["1 B"]"#, #""kind": "cut", "between": ["1 B", "2 B", "3 B"]"#,
            #""kind": "cut", "at": "1 B", "of": "body""#, #""kind": "cut", "at": "1 B", "how": "rst""#,
            #""kind": "stall""#, #""kind": "stall", "for": "0 s""#, #""kind": "outage""#,
            #""kind": "outage", "how": "reject""#, #""kind": "outage", "how": "refuse", "stream": "upstream""#,
            #""kind": "outage", "how": "reset", "stream": "downstream""#,
            #""kind": "cut", "after": "0 s""#, #""kind": "cut", "idle": "1 B""#,
            #""kind": "cut", "at": "1 B", "idle": "1 s""#,
            #""kind": "cut", "after": "1 s", "stream": "upstream""#,
            #""kind": "cut", "idle": "1 s", "stream": "downstream""#,
            #""kind": "corrupt""#, #""kind": "corrupt", "at": "1 B", "rate": "1 %""#,
            #""kind": "corrupt", "rate": 0.1"#,
            #""kind": "corrupt", "at": ["1 B"]"#, #""kind": "truncate""#, #""kind": "truncate", "bytes": "0 B""#,
            #""kind": "truncate", "bytes": 5"#,
            #""kind": "trace""#, #""kind": "trace", "file": 3"#, #""kind": "trace", "file": """#,
            #""kind": "trace", "file": "traces/12mbit.trace", "queue": 5"#,
            #""kind": "slow-reader""#, #""kind": "slow-reader", "rate": "1 B/s", "window": "0 B""#,
            #""kind": "slice""#, #""kind": "slice", "size": "0 B""#, #""kind": "slice", "size": "9 B", "pause": 1"#,
            #""kind": "outage", "how": "refuse", "recovery": "tcp-backoff""#,
            #""kind": "outage", "how": "silence", "recovery": "slow""#, #""kind": "loss", "rate": "1 %""#,
            #""kind": "loss", "rate": 1, "rtt": "50 ms""#, #""kind": "loss", "rate": "1 %", "rtt": "0 ms""#,
            #""kind": "loss", "rate": "1 %", "rtt": "50 ms", "burst": 1001"#,
            #""kind": "loss", "rate": "1 %", "rtt": "50 ms", "burst": "5""#,
            #""kind": "loss", "rate": "1 %", "rtt": "50 ms", "link": "0 bit/s""#,
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
            #"{ "client": 127 }"#, #"{ "client": "localhost" }"#, #"{ "client": [] }"#,
            #"{ "client": "127.0.0.1:80" }"#,
            #"{ "client": ["::1", 3] }"#, #"{ "client": "10.0.0.0/33" }"#, #"{ "client": "fd00::/129" }"#,
            #"{ "client": "10.0.0.0/08" }"#, #"{ "client": "[::1]" }"#, #"{ "client": "fe80::1%eth0" }"#,
            #"{ "client": "10.0.0.0/" }"#, #"{ "client": "" }"#, #"{ "client": "10.0.0" }"#,
            #"{ "clock": 5 }"#, #"{ "clock": ".." }"#, #"{ "duty": "2 s" }"#, #"{ "duty": { "on": "2 s" } }"#,
            #"{ "duty": { "on": "0 s", "off": "1 s" } }"#, #"{ "duty": { "on": "1 s", "off": "1 s", "at": "1 s" } }"#,
            #"{ "after": "" }"#, #"{ "after": 3 }"#,
        ])

    /// The reader refuses these by rules between values, or about a value's size, that patterns lack.
    static let beyondSchema =
        members([
            #""phases": [ { "name": "a" }, { "name": "b" } ]"#, #""extends": """#, #""extends": "other""#,
            #""phases": [ { "name": "a", "for": "1 s" }, { "name": "a" } ]"#,
            #""phases": [ { "name": "a", "for": "1 s", "jitter": "1 s" } ]"#,
            #""phases": [ { "name": "a", "jitter": "1 s" } ]"#,
            #""proxies": [ { "name": "p", "listen": "1.2.3.256:0", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "[::1::]:0", "upstream": "h:1" } ]"#,
            #""proxies": [ { "name": "p", "listen": "a..b:0", "upstream": "h:1" } ]"#,
        ])
        + faults([
            #""kind": "latency", "delay": "0.5 ns""#, #""kind": "latency", "delay": "99999999999 h""#,
            #""kind": "cut", "between": ["2 B", "1 B"]"#, #""kind": "corrupt", "rate": "0 %""#,
            #""kind": "corrupt", "between": ["2 B", "1 B"]"#,
            #""kind": "trace", "file": "traces/none.trace""#,
            #""kind": "trace", "file": "traces/12mbit.trace", "queue": "1499 B""#,
            #""kind": "slice", "size": "2 B", "spread": "2 B""#,
            #""kind": "slow-reader", "rate": "1 B/s", "window": "1 KiB""#,
            #""kind": "bandwidth", "rate": "1 B/s", "per": "proxy", "shared": true"#,
            #""kind": "bandwidth", "rate": "1 B/s", "repeat": "1 s""#,
            #""kind": "bandwidth", "rate": "1 B/s", "repeat": "1 s", "steps": [ { "after": "1 s", "rate": "1 B/s" } ]"#,
            #""kind": "bandwidth", "wave": { "low": "2 B/s", "high": "2 B/s", "period": "1 s" }"#,
            #""kind": "bandwidth", "wave": { "low": "1 B/s", "high": "2 B/s", "period": "25 h" }"#,
            #""kind": "latency", "quantiles": ["2 s", "1 s"]"#, #""kind": "latency", "delay": "1 s", "minimum": "2 s""#,
            #""kind": "latency", "quantiles": ["1 s", "2 s"], "jitter": "1 s""#,
            #""kind": "latency", "delay": "0 s", "distribution": "log-normal""#,
            #""kind": "latency", "delay": "1 s", "spikes": { "every": "1 s", "for": "1 s", "extra": "1 s" }"#,
        ])
        + conditions([
            #"{ "connection": "2..1" }"#, #"{ "age": "2 s..1 s" }"#, #"{ "age": "1 s..1 s" }"#,
            #"{ "client": "10.0.0.256" }"#, #"{ "client": "10.0.0.1/8" }"#, #"{ "client": "1::2::3" }"#,
            #"{ "client": "010.0.0.1" }"#, #"{ "client": "::ffff:10.0.0.0/64" }"#, #"{ "clock": "2 s..1 s" }"#,
            #"{ "after": "nothing" }"#, #"{ "after": "stall" }"#,
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
