import Units

/// The figures of the presets as their tools publish them, so that a slip in a file shows.
///
/// Rates are in kbit/s, a dash being no limit; delays in milliseconds.
struct PresetTable {
    /// What the tool's delay means.
    enum Delay {
        /// Added in each direction by itself; two figures: downstream, upstream.
        case oneWay
        /// A round trip: half of the one figure in each direction.
        case roundTrip
        /// A round trip drawn between two figures: half of the draw in each direction.
        case drawnRoundTrip
    }

    let tool: String
    let delay: Delay
    /// The bits of the tool's "kbit".
    let kilo: Double
    /// Lines of: name, rate downstream, rate upstream, one delay or two, and then perhaps words with two figures each,
    /// downstream and upstream: `jitter` in milliseconds, `loss` in %.
    let rows: String

    init(_ tool: String, _ delay: Delay, kilo: Double = 1_000, _ rows: String) {
        self.tool = tool
        self.delay = delay
        self.kilo = kilo
        self.rows = rows
    }

    static let all = [
        PresetTable(
            "nlc",
            .oneWay,
            """
            3g 780 330 100 100
            dsl 2000 256 5 5
            edge 240 200 400 440
            lte 50000 10000 50 65
            wifi 40000 33000 1 1
            wifi-ac 250000 100000 1 1
            3g-good 850 420 100 100
            3g-average 780 330 100 100
            edge-good 250 200 350 370
            edge-average 240 200 400 440
            very-bad-network 1000 1000 500 500 loss 10 10
            3g-lossy 780 330 100 100 loss 1 0
            edge-lossy 240 200 400 440 loss 1 0
            """
        ),
        PresetTable(
            "chrome",
            .roundTrip,
            """
            3g 500 500 400
            slow-4g 1600 750 150
            fast-4g 9000 1500 60
            """
        ),
        PresetTable(
            "lighthouse",
            .roundTrip,
            """
            mobile-slow-4g 1638.4 750 150
            mobile-regular-3g 700 700 300
            desktop-dense-4g 10240 - 40
            """
        ),
        PresetTable(
            "devtools",
            .roundTrip,
            kilo: 1_024,
            """
            gprs 50 20 500
            regular-2g 250 50 300
            good-2g 450 150 150
            regular-3g 750 250 100
            good-3g 1500 750 40
            regular-4g 4000 3000 20
            dsl 2000 1000 5
            wifi 30000 15000 2
            """
        ),
        PresetTable(
            "wpt",
            .roundTrip,
            """
            cable 5000 1000 28
            dsl 1500 384 50
            vdsl 15000 3000 20
            fios 20000 5000 4
            3g-slow 400 400 400
            3g 1600 768 300
            3g-fast 1600 768 150
            4g 9000 9000 170
            4g-fast 10240 10240 40
            lte 12000 12000 70
            edge 240 200 840
            2g 280 256 800
            dial 49 30 120
            native - - 0
            """
        ),
        PresetTable(
            "sitespeed",
            .oneWay,
            """
            3g 1600 768 150 150
            3gfast 1600 768 75 75
            3gslow 400 400 200 200
            2g 280 256 400 400
            cable 5000 1000 14 14
            dsl 1500 384 25 25
            4g 9000 9000 85 85
            lte 12000 12000 35 35
            edge 240 200 420 420
            dial 49 30 60 60
            fios 20000 5000 2 2
            """
        ),
        PresetTable(
            "android",
            .drawnRoundTrip,
            """
            gsm 14.4 14.4 150 550
            hscsd 57.6 14.4 80 400
            gprs 57.6 28.8 35 200
            edge 473.6 473.6 80 400
            umts 384 384 35 200
            hsdpa 13980 5760 0 0
            lte 173000 58000 0 0
            evdo 280000 75000 0 0
            full - - 0 0
            """
        ),
        PresetTable(
            "android5",
            .drawnRoundTrip,
            """
            gsm 14.4 14.4 150 550
            hscsd 43.2 14.4 80 400
            gprs 80 40 150 550
            edge 236.8 118.4 80 400
            umts 1920 128 35 200
            hsdpa 14400 348 0 0
            """
        ),
        PresetTable(
            "atc",
            .oneWay,
            """
            2g-rural 20 18 650 650 loss 2 2
            2g-urban 35 32 650 650
            edge-good 250 200 350 370
            edge-average 240 200 400 440
            edge-lossy 240 200 400 440 loss 1 1
            3g-good 850 420 90 100
            3g-average 780 330 100 100
            dsl 2000 256 5 5
            cable 6000 1000 2 2
            no-connectivity 1 1 0 0
            """
        ),
        PresetTable(
            "comcast",
            .roundTrip,
            """
            gprs 50 50 500 loss 2 2
            edge 250 250 300 loss 1.5 1.5
            3g-hsdpa 750 750 250 loss 1.5 1.5
            dial-up 40 40 185 loss 2 2
            dsl-poor 2000 2000 70 loss 2 2
            dsl-good 8000 8000 40 loss 0.5 0.5
            wifi 30000 30000 40 loss 0.2 0.2
            starlink - - 20 loss 2.5 2.5
            """
        ),
        PresetTable(
            "loadero",
            .oneWay,
            """
            4g 100000 50000 45 45 jitter 5 15 loss 0.2 0.2
            3.5g 20000 10000 150 150 jitter 10 10 loss 0.5 0.5
            3g 1200 1200 250 250 jitter 50 50 loss 0.5 0.5
            gprs 80 20 650 650 jitter 100 100 loss 1 1
            edge 200 260 650 650 jitter 100 100 loss 1 1
            satellite 1000 256 600 600
            """
        ),
        PresetTable(
            "quic",
            .oneWay,
            """
            base 10000 10000 15 15
            longrtt 10000 10000 750 750
            blackhole 10000 10000 15 15
            handshakeloss 10000 10000 15 15 loss 30 30
            transferloss 10000 10000 15 15 loss 2 2
            """
        ),
        PresetTable("wifi", .drawnRoundTrip, "good 40000 33000 2 6 loss 0.01 0.01"),
    ]

    /// The means of mahimahi's recordings: lines of name, Mbit/s downstream, Mbit/s upstream.
    static let means = """
        att-lte-driving 5.17 0.83
        att-lte-2016 4.56 1.91
        tmobile-lte-short 16.7 13.3
        tmobile-umts 2.02 0.94
        verizon-evdo 0.52 0.84
        verizon-lte-short 5.03 5.95
        12mbit 12 12
        """

    /// Presets that say more than rates, delays, jitter and loss, and have a test of their own.
    static let others = measured.union(tls).union([
        "nlc-100-percent-loss", "nlc-high-latency-dns", "chrome-offline", "wifi-busy", "wifi-edge", "wifi-handover",
        "wifi-drop", "wifi-tunnel", "wifi-captive-portal", "wifi-far",
    ])

    /// Presets whose figures are those of a published measurement, which a test of their own is for.
    static let measured: Set<String> = [
        "wifi-campus", "wifi-crowded", "wifi-rejoin", "wifi-handover-fast", "wifi-handover-full", "wifi-scan",
        "wifi-slow-neighbour",
    ]

    /// Failures of TLS: a fault each.
    static let tls: Set<String> = [
        "tls-expired", "tls-not-yet-valid", "tls-wrong-host", "tls-self-signed", "tls-untrusted", "tls-no-intermediate",
        "tls-long-chain", "tls-handshake-failure", "tls-late-alert", "tls-plain-http", "tls-stalled-handshake",
        "tls-no-alpn",
        "tls-old-version", "tls-small-records",
    ]

    /// Presets of the tables that have phases as well, which a test of their own is for.
    static let phased: Set<String> = ["quic-blackhole"]
}
