import Units

/// Packet loss as seen in a stream: stalls, bursts and a lower rate. No byte is lost.
///
/// Lost segments of 1,448 bytes are drawn by position. With `burst` 1 losses are independent; otherwise Gilbert's model: a
/// good state without loss and a bad one that loses all, with the transition chances p and r per segment. For a mean loss L
/// and a mean burst B, r = 1/B and p = L/(B·(1 − L)), so B must be L/(1 − L) or more (E. N. Gilbert, "Capacity of a
/// burst-noise channel", 1960).
public struct Loss: Hashable, Sendable {
    /// The share of segments that are lost. Below one.
    public var rate: Probability
    /// How many segments are lost in a row, in the mean. One or more.
    public var burst: Int
    /// The round trip of the path that the virtual sender sends over. Above zero.
    public var roundTrip: Duration
    /// How the virtual sender answers loss.
    public var sender: Sender
    /// The rate of the path's narrowest link, headers included. Above zero.
    public var link: BitRate
    /// The bytes that may wait for the link, headers included, above which packets are dropped. Above zero; `nil` is what
    /// the path carries in a round trip, but at least 100 packets.
    public var queue: ByteCount?
    /// The most bytes that may be on their way to the receiver. Above zero; `nil` is 3.75 MB, to which the window grows.
    public var receiveWindow: ByteCount?

    /// How a sender answers loss: its congestion control.
    public enum Sender: String, Hashable, Sendable, CaseIterable {
        /// Half of the window is given up at each loss (RFC 5681).
        case reno
        /// Three tenths are given up, and grown back along a cubic curve (RFC 9438).
        case cubic
        /// The window follows the rate that was measured, whatever is lost.
        case bbr
    }

    /// The link of a loss fault that names none: 1 Gbit/s.
    public static let defaultLink = BitRate(bitsPerSecond: 1_000_000_000)

    /// Makes a loss; `burst` segments in a row can lose no more than `burst / (burst + 1)` of all.
    public init(
        rate: Probability,
        burst: Int = 1,
        roundTrip: Duration,
        sender: Sender = .cubic,
        link: BitRate = Loss.defaultLink,
        queue: ByteCount? = nil,
        receiveWindow: ByteCount? = nil
    ) {
        self.rate = rate
        self.burst = burst
        self.roundTrip = roundTrip
        self.sender = sender
        self.link = link
        self.queue = queue
        self.receiveWindow = receiveWindow
    }
}

extension Loss: FaultDefinition {
    static let word = "loss"
    static let summary = "Packets are lost, as a stream shows it: stalls, bursts, and a lower rate. No byte is lost."
    static let example = #"{ "kind": "loss", "stream": "downstream", "rate": "2 %", "burst": 3, "rtt": "40 ms" }"#
    static let table = ObjectTable(
        Loss(rate: .never, roundTrip: .zero),
        texts: """
            rate: share of lost packets
            burst: mean number lost in a row; with 1 each is drawn by itself. Bursts of B lose at most B/(B + 1)
            rtt: round trip of the lossy path; adds no delay
            sender: congestion control of the sender
            link: rate of the path's narrowest link, headers included
            queue: bytes that may wait for the link, headers included; packets beyond them are dropped and sent again
            receiveWindow: bytes that may be on their way to the receiver
            """,
        [
            .required("rate", \.rate, .chance.described("chance below 100 %")),
            .optional("burst", \.burst, .wholeNumber(.burstLength, in: 1...ProfileLimits.burstLength), default: 1),
            .required("rtt", \.roundTrip, .roundTrip),
            .optional("sender", \.sender, .choice, default: .cubic),
            .optional("link", \.link, .rate, default: defaultLink),
            .optional("queue", \.queue, packets, fallback: "a round trip of the link, but at least 100 packets"),
            .optional("receiveWindow", \.receiveWindow, packets, fallback: "grows from 64 KiB, up to 3.75 MB"),
        ]
    )

    /// The least size of a queue or a window: one packet with its headers.
    private static let leastSize = ByteCount(1_514)

    private static let packets = Form.size.checked { size in
        guard size < leastSize else { return nil }
        return ("\(size.text) has no room for a packet of 1514 B", "write “1514 B” or more")
    }.described("size of at least `\"1514 B\"`")

    var kind: FaultKind { .loss(self) }
    var figures: FaultFigures {
        let bursts = burst > 1 ? " in bursts of \(burst)" : ""
        return FaultFigures(text: "loss \(rate.text)\(bursts), round trip \(roundTrip.text), \(sender.rawValue)")
    }

    /// Reports a loss that leaves nothing, and one that bursts of this length can't make.
    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        if rate == .always {
            decoder.report(
                "a loss of 100 % lets nothing pass",
                remedy: "use an “outage” with “\"how\": \"silence\"”",
                at: context.object["rate"]?.place ?? context.object.place
            )
            return
        }
        // Less a little, so that 80 % are four fifths.
        let least = (rate.fraction / (1 - rate.fraction) - 1e-9).rounded(.up)
        guard burst > 1, Double(burst) < least else { return }
        decoder.report(
            "bursts of \(burst) can't make a loss of \(rate.text): what comes between them has no room",
            remedy: least <= Double(ProfileLimits.burstLength)
                ? "write a burst of \(Int(least)) or more" : "write a lower rate",
            at: context.object["burst"]?.place ?? context.object.place
        )
    }
}
