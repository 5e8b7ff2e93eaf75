extension ForeignWords {
    static let keys: [Entry] =
        keysOfProfiles + keysOfFaults
        + [
            Entry("type toxic fault toxictype", "delete it: “kind” says what the fault is"),
            Entry("direction dir", "write “\"stream\": \"downstream\"”, “upstream” or “both”"),
            Entry("toxicity probability percent percentage", "write “\"when\": { \"chance\": \"50 %\" }”"),
            Entry("attributes attrs params parameters options", "write its keys into the fault itself"),
            Entry("enabled disabled active", "delete it: a fault that is in the profile is on"),
            Entry(
                "comment comments description summary title note notes",
                "write it as “name”, which the journal shows"
            ),
            Entry(
                "method path status request header",
                "write “\"when\": { \"http\": { … } }” with it in the inner braces"
            ),
            Entry(
                "for duration start starttime from until end delayuntil",
                "write “\"when\": { \"clock\": \"5 s..10 s\" }”, or put the fault into one of the “phases”"
            ),
            Entry("protocol proto transport", "delete it: \(withoutDatagrams)"),
            Entry("duplicate duplication reorder reordering gap", withoutFault[0].remedy),
        ]

    private static let faultsRemedy = "write “\"faults\": [ … ]”"

    private static let keysOfProfiles: [Entry] = [
        Entry(
            "toxics toxic fault rules effects impairments",
            faultsRemedy,
            of: ["profile", "preset", "embeddedProfile", "phase", "proxy"]
        ),
        Entry("description title comment comments about note", "write “summary”", of: ["profile", "preset"]),
        Entry("loop cycle repeats forever", "write “repeat”", of: ["profile", "preset", "embeddedProfile", "proxy"]),
        Entry(
            "stages steps timeline schedule scenario",
            "write “\"phases\": [ … ]”",
            of: ["profile", "preset", "embeddedProfile", "proxy"]
        ),
        Entry("base parent inherits inherit include import", "write “extends”", of: ["profile", "preset"]),
        Entry("random randomseed rng", "write “seed”", of: ["profile", "preset"]),
        Entry(
            "listen port bind upstream target backend server proxy",
            "write “\"proxies\": [ { \"name\": \"web\", \"listen\": \"127.0.0.1:8080\", \"upstream\": \"127.0.0.1:80\" } ]”",
            of: ["profile"]
        ),
        Entry("when connection connections", "move it into each of the faults", of: ["phase", "proxy", "preset"]),
        Entry("connection connections", "write “\"when\": { \"connection\": 1 }”", of: ["profile"]),
        Entry("duration length time lasts seconds until", "write “\"for\": \"5 s\"”", of: ["phase"]),
        Entry("target backend destination remote server to forward", "write “upstream”", of: ["proxy"]),
        Entry("bind address local source port", "write “\"listen\": \"127.0.0.1:8080\"”", of: ["proxy"]),
        Entry("protocol proto transport network udp quic", "delete it: \(withoutDatagrams)", of: ["profile", "proxy"]),
        Entry("tls ssl https", "delete it: TLS passes through a proxy as it is", of: ["profile", "proxy"]),
        Entry("enabled", "delete it: a proxy that is in the profile is on", of: ["proxy"]),
        Entry("toxicity probability percent percentage", "write “\"chance\": \"50 %\"”", of: ["condition"]),
        Entry("ip address source clientip", "write “\"client\": \"10.0.0.0/8\"”", of: ["condition"]),
        Entry("time start between from until", "write “\"clock\": \"5 s..10 s\"”", of: ["condition"]),
        Entry("nth number ordinal", "write “\"connection\": 1”", of: ["condition"]),
        Entry(
            "method path url status request header",
            "write “\"http\": { … }” with it in the inner braces",
            of: ["condition"]
        ),
        Entry("period cycle onoff", "write “\"duty\": { \"on\": \"2 s\", \"off\": \"8 s\" }”", of: ["condition"]),
        Entry("url uri route", "write “path”", of: ["httpCondition"]),
        Entry("verb", "write “method”", of: ["httpCondition"]),
        Entry("code", "write “status”", of: ["httpCondition"]),
    ]

    private static func own(_ kind: String) -> String { "make a “\(kind)” fault of its own of it" }

    private static let keysOfFaults: [Entry] = [
        Entry("latency lag time amount ms value", "write “delay”", of: ["latency"]),
        Entry("variation delayvariation variance deviation stddev", "write “jitter”", of: ["latency"]),
        Entry("bandwidth throughput", own("bandwidth"), of: ["latency", "loss", "corrupt"]),
        Entry("rate", own("bandwidth"), of: ["latency"]),
        Entry("loss packetloss plr", own("loss"), of: ["latency", "bandwidth"]),
        Entry("corrupt", own("corrupt"), of: ["latency", "bandwidth", "loss"]),
        Entry("delay latency jitter", own("latency"), of: ["bandwidth"]),
        Entry(
            "bandwidth speed limit throughput capacity bps kbps mbps",
            "write “\"rate\": \"1 Mbit/s\"”",
            of: ["bandwidth"]
        ),
        Entry("bytes", "write “\"limit\": \"1 MiB\"”, or “at”", of: ["cut"]),
        Entry("timeout", "write “\"traffic\": \"1 s\"”, or “idle”", of: ["cut"]),
        Entry("rst reset mode action close", "write “\"how\": \"reset\"”, “close” or “silence”", of: ["cut"]),
        Entry(
            "offset position byte",
            "write “at”",
            of: ["cut", "stall", "corrupt", "insert", "truncate", "half-open"]
        ),
        Entry("timeout after closeafter", "write “close-after”", of: ["discard"]),
        Entry("averagesize average chunk chunksize", "write “size”", of: ["slice"]),
        Entry("sizevariation variation jitter", "write “spread”", of: ["slice"]),
        Entry("delay", "write “pause”", of: ["slice"]),
        Entry("delay timeout for duration", "write “by”", of: ["slow-close"]),
        Entry("duration timeout time delay", "write “for”", of: ["stall"]),
        Entry("mode action type", "write “how”", of: ["outage", "connect", "connection-limit"]),
        Entry("loss percent percentage probability ratio plr packetloss packetlossratio", "write “rate”", of: ["loss"]),
        Entry("correlation", "write “burst”, the mean number of packets lost in a row", of: ["loss"]),
        Entry("delay latency", "write “rtt”", of: ["loss"]),
        Entry("percent percentage probability", "write “rate”", of: ["corrupt"]),
        Entry("correlation", "delete it: each byte is drawn by itself", of: ["corrupt"]),
        Entry("data text content", "write “bytes”", of: ["insert"]),
        Entry("length count size", "write “bytes”", of: ["truncate"]),
        Entry("bandwidth speed limit", "write “rate”", of: ["slow-reader"]),
        Entry("path filename url", "write “file”", of: ["trace"]),
        Entry("delay timeout duration", "write “for”", of: ["connect"]),
        Entry("max maximum connections count", "write “limit”", of: ["connection-limit"]),
        Entry("status code body header response reply", "write “\"answer\": { \"status\": 503 }”", of: ["http"]),
    ]
}
