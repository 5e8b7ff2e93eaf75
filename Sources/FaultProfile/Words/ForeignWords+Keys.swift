extension ForeignWords {
    /// Words for keys, with the definitions of the objects that they are about. None means every fault.
    static let keys: [(objects: [String], words: Entry)] =
        keysOfProfiles + keysOfFaults
        + [
            ([], Entry("type toxic fault toxictype", "delete it: “kind” says what the fault is")),
            ([], Entry("direction dir", "write “\"stream\": \"downstream\"”, “upstream” or “both”")),
            ([], Entry("toxicity probability percent percentage", "write “\"when\": { \"chance\": \"50 %\" }”")),
            ([], Entry("attributes attrs params parameters options", "write its keys into the fault itself")),
            ([], Entry("enabled disabled active", "delete it: a fault that is in the profile is on")),
            (
                [],
                Entry(
                    "comment comments description summary title note notes",
                    "write it as “name”, which the journal shows"
                )
            ),
            (
                [],
                Entry(
                    "method path status request header",
                    "write “\"when\": { \"http\": { … } }” with it in the inner braces"
                )
            ),
            (
                [],
                Entry(
                    "for duration start starttime from until end delayuntil",
                    "write “\"when\": { \"clock\": \"5 s..10 s\" }”, or put the fault into one of the “phases”"
                )
            ),
            ([], Entry("protocol proto transport", "delete it: \(withoutDatagrams)")),
            ([], Entry("duplicate duplication reorder reordering gap", withoutFault[0].remedy)),
        ]

    private static let faultsRemedy = "write “\"faults\": [ … ]”"

    private static let keysOfProfiles: [(objects: [String], words: Entry)] = [
        (
            ["profile", "preset", "embeddedProfile", "phase", "proxy"],
            Entry("toxics toxic fault rules effects impairments", faultsRemedy)
        ),
        (["profile", "preset"], Entry("description title comment comments about note", "write “summary”")),
        (["profile", "preset", "embeddedProfile", "proxy"], Entry("loop cycle repeats forever", "write “repeat”")),
        (
            ["profile", "preset", "embeddedProfile", "proxy"],
            Entry("stages steps timeline schedule scenario", "write “\"phases\": [ … ]”")
        ),
        (["profile", "preset"], Entry("base parent inherits inherit include import", "write “extends”")),
        (["profile", "preset"], Entry("random randomseed rng", "write “seed”")),
        (
            ["profile"],
            Entry(
                "listen port bind upstream target backend server proxy",
                "write “\"proxies\": [ { \"name\": \"web\", \"listen\": \"127.0.0.1:8080\", \"upstream\": \"127.0.0.1:80\" } ]”"
            )
        ),
        (
            ["phase", "proxy", "preset"],
            Entry("when connection connections", "move it into each of the faults")
        ),
        (["profile"], Entry("connection connections", "write “\"when\": { \"connection\": 1 }”")),
        (["phase"], Entry("duration length time lasts seconds until", "write “\"for\": \"5 s\"”")),
        (["proxy"], Entry("target backend destination remote server to forward", "write “upstream”")),
        (["proxy"], Entry("bind address local source port", "write “\"listen\": \"127.0.0.1:8080\"”")),
        (
            ["profile", "proxy"],
            Entry("protocol proto transport network udp quic", "delete it: \(withoutDatagrams)")
        ),
        (["profile", "proxy"], Entry("tls ssl https", "delete it: TLS passes through a proxy as it is")),
        (["proxy"], Entry("enabled", "delete it: a proxy that is in the profile is on")),
        (["condition"], Entry("toxicity probability percent percentage", "write “\"chance\": \"50 %\"”")),
        (["condition"], Entry("ip address source clientip", "write “\"client\": \"10.0.0.0/8\"”")),
        (["condition"], Entry("time start between from until", "write “\"clock\": \"5 s..10 s\"”")),
        (["condition"], Entry("nth number ordinal", "write “\"connection\": 1”")),
        (
            ["condition"],
            Entry("method path url status request header", "write “\"http\": { … }” with it in the inner braces")
        ),
        (["condition"], Entry("period cycle onoff", "write “\"duty\": { \"on\": \"2 s\", \"off\": \"8 s\" }”")),
        (["httpCondition"], Entry("url uri route", "write “path”")),
        (["httpCondition"], Entry("verb", "write “method”")),
        (["httpCondition"], Entry("code", "write “status”")),
    ]

    private static func own(_ kind: String) -> String { "make a “\(kind)” fault of its own of it" }

    private static let keysOfFaults: [(objects: [String], words: Entry)] = [
        (["latency"], Entry("latency lag time amount ms value", "write “delay”")),
        (["latency"], Entry("variation delayvariation variance deviation stddev", "write “jitter”")),
        (["latency", "loss", "corrupt"], Entry("bandwidth throughput", own("bandwidth"))),
        (["latency"], Entry("rate", own("bandwidth"))),
        (["latency", "bandwidth"], Entry("loss packetloss plr", own("loss"))),
        (["latency", "bandwidth", "loss"], Entry("corrupt", own("corrupt"))),
        (["bandwidth"], Entry("delay latency jitter", own("latency"))),
        (
            ["bandwidth"],
            Entry("bandwidth speed limit throughput capacity bps kbps mbps", "write “\"rate\": \"1 Mbit/s\"”")
        ),
        (["cut"], Entry("bytes", "write “\"limit\": \"1 MiB\"”, or “at”")),
        (["cut"], Entry("timeout", "write “\"traffic\": \"1 s\"”, or “idle”")),
        (["cut"], Entry("rst reset mode action close", "write “\"how\": \"reset\"”, “close” or “silence”")),
        (["cut", "stall", "corrupt", "insert", "truncate", "half-open"], Entry("offset position byte", "write “at”")),
        (["discard"], Entry("timeout after closeafter", "write “close-after”")),
        (["slice"], Entry("averagesize average chunk chunksize", "write “size”")),
        (["slice"], Entry("sizevariation variation jitter", "write “spread”")),
        (["slice"], Entry("delay", "write “pause”")),
        (["slow-close"], Entry("delay timeout for duration", "write “by”")),
        (["stall"], Entry("duration timeout time delay", "write “for”")),
        (["outage", "connect", "connection-limit"], Entry("mode action type", "write “how”")),
        (["loss"], Entry("loss percent percentage probability ratio plr packetloss packetlossratio", "write “rate”")),
        (["loss"], Entry("correlation", "write “burst”, the mean number of packets lost in a row")),
        (["loss"], Entry("delay latency", "write “rtt”")),
        (["corrupt"], Entry("percent percentage probability", "write “rate”")),
        (["corrupt"], Entry("correlation", "delete it: each byte is drawn by itself")),
        (["insert"], Entry("data text content", "write “bytes”")),
        (["truncate"], Entry("length count size", "write “bytes”")),
        (["slow-reader"], Entry("bandwidth speed limit", "write “rate”")),
        (["trace"], Entry("path filename url", "write “file”")),
        (["connect"], Entry("delay timeout duration", "write “for”")),
        (["connection-limit"], Entry("max maximum connections count", "write “limit”")),
        (["http"], Entry("status code body header response reply", "write “\"answer\": { \"status\": 503 }”")),
    ]
}
