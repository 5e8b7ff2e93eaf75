extension ForeignWords {
    /// Words for kinds of faults. The remedy is the content of a fault, which can be read.
    static let kinds = [
        Entry("latency delay lag ping slow wan", #""kind": "latency", "delay": "100 ms""#),
        Entry("jitter delayvariation", #""kind": "latency", "delay": "100 ms", "jitter": "20 ms""#),
        Entry("timeout", #""kind": "discard", "close-after": "5 s""#),
        Entry(
            "rst reset resetpeer tcpreset connectionreset disconnect abort kill",
            #""kind": "cut", "traffic": "0 s", "how": "reset""#
        ),
        Entry("close fin hangup", #""kind": "cut", "traffic": "0 s", "how": "close""#),
        Entry("slicer chunk fragment split", #""kind": "slice", "size": "400 B", "pause": "1 ms""#),
        Entry("slowclose", #""kind": "slow-close", "by": "5 s""#),
        Entry("limitdata datalimit", #""kind": "cut", "limit": "1 MiB", "how": "close""#),
        Entry("down offline blackhole partition networkpartition unreachable", #""kind": "outage", "how": "silence""#),
        Entry("refuse reject", #""kind": "outage", "how": "refuse""#),
        Entry(
            "bandwidth throttle rate ratelimit speed limit shape tbf htb",
            #""kind": "bandwidth", "rate": "1 Mbit/s""#
        ),
        Entry(
            "downlinkbandwidth downloadthroughput download downlink",
            #""kind": "bandwidth", "stream": "downstream", "rate": "1 Mbit/s""#
        ),
        Entry(
            "uplinkbandwidth uploadthroughput upload uplink",
            #""kind": "bandwidth", "stream": "upstream", "rate": "1 Mbit/s""#
        ),
        Entry("downlinkdelay", #""kind": "latency", "stream": "downstream", "delay": "100 ms""#),
        Entry("uplinkdelay", #""kind": "latency", "stream": "upstream", "delay": "100 ms""#),
        Entry("loss drop packetloss packetlossratio plr lossratio", #""kind": "loss", "rate": "1 %", "rtt": "60 ms""#),
        Entry(
            "downlinkpacketlossratio downlinkpacketsdropped",
            #""kind": "loss", "stream": "downstream", "rate": "1 %", "rtt": "60 ms""#
        ),
        Entry(
            "uplinkpacketlossratio uplinkpacketsdropped",
            #""kind": "loss", "stream": "upstream", "rate": "1 %", "rtt": "60 ms""#
        ),
        Entry("corruption bitflip garble", #""kind": "corrupt", "rate": "0.0001 %""#),
        Entry("freeze hang pause", #""kind": "stall", "at": "64 KiB", "for": "5 s""#),
        Entry("error status httperror response", #""kind": "http", "answer": { "status": 503 }"#),
        Entry("syn handshake connecttimeout", #""kind": "connect", "how": "hang""#),
        Entry("maxconnections limitconnections", #""kind": "connection-limit", "limit": 100"#),
    ]

    /// Words for which there is no fault, with what to do instead.
    static let withoutFault = [
        Entry(
            "duplicate duplication reorder reordering gap",
            "TCP hides it from programs but for the delay: write a “latency” fault with “jitter”, or a “loss” fault"
        ),
        Entry("udp quic datagram datagrams", withoutDatagrams),
        Entry("noop none", "delete it: a proxy without faults forwards everything"),
        Entry(
            "dns dnsdelay dnsdelayvalue",
            "names are looked up outside of the proxy: write “\"kind\": \"connect\", \"how\": \"delay\", \"for\": \"1 s\"”"
        ),
        Entry(
            "runoninterface excludeloopback protocolfamily interface",
            "delete it: a profile acts on the connections of its proxies alone"
        ),
        Entry(
            "downlinkbandwidthunit uplinkbandwidthunit bandwidthunit unit",
            "write the unit into the value: “\"rate\": \"1 Mbit/s\"”"
        ),
    ]

    /// Words for values. The remedy is the value; the first that the key has counts.
    static let values = [
        Entry("down download downlink server response responses receive rx", "downstream"),
        Entry("up upload uplink client request requests send tx", "upstream"),
        Entry("all any bidirectional duplex", "both"),
        Entry("rst resetpeer abort", "reset"),
        Entry("fin eof graceful shutdown", "close"),
        Entry("drop blackhole timeout hang silent", "silence"),
        Entry("drop blackhole timeout silence silent queue", "hang"),
        Entry("reject refused", "refuse"),
        Entry("slow latency", "delay"),
        Entry("gauss gaussian", "normal"),
        Entry("paretonormal", "pareto"),
        Entry("newreno", "reno"),
    ]
}
