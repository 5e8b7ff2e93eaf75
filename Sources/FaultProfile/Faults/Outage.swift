import Units

/// Takes away the network or the server while the fault is on.
public struct Outage: Hashable, Sendable {
    /// What a client sees.
    public var how: Mode
    /// How a stream continues after a silence; `immediate` for other outages.
    public var recovery: Recovery

    /// What a client sees of an outage.
    public enum Mode: String, Hashable, Sendable, CaseIterable {
        /// New connections are refused, live ones are reset.
        case refuse
        /// New connections are accepted and nothing passes; bytes in flight are held until the outage ends.
        case silence
        /// Live connections are reset, new ones are accepted and reset at once.
        case reset
    }

    /// How a stream continues after a silence.
    public enum Recovery: Hashable, Sendable {
        /// At once.
        case immediate
        /// When a TCP sender would transmit again: by a tail loss probe (RFC 8985, section 7), then by its retransmission
        /// timer, which doubles each time (RFC 6298, section 5) and starts at the round trip and 200 ms. The round trip, its
        /// queue included, is above zero.
        case tcpBackoff(roundTrip: Duration?)
    }

    package init(how: Mode, recovery: Recovery = .immediate) {
        self.how = how
        self.recovery = recovery
    }
}

extension Outage: FaultDefinition {
    static let word = "outage"
    static let article = "an"
    static let summary = "The network or the server is away while the fault is on."
    static let example = #"{ "kind": "outage", "how": "silence", "recovery": "tcp-backoff", "rtt": "60 ms" }"#
    static let table = ObjectTable(
        Outage(how: .silence),
        texts: """
            how: clients are refused, receive nothing, or are reset
            recovery: after a silence, transfers resume at once, or at the next retry of a TCP sender
            rtt: with `tcp-backoff`: the round trip with its queue; the sender's timer starts at it and 200 ms
            """,
        rules: [("if", .has(["how": "silence"])), ("else", .has(["recovery": "immediate", "stream": "both"]))],
        [
            .required("how", \.how, .choice),
            .part("recovery", .choice, fallback: "`immediate`") {
                $0.recovery == .immediate ? nil : RecoveryName.tcpBackoff
            } set: {
                if $1 == .tcpBackoff { $0.recovery = .tcpBackoff(roundTrip: nil) }
            },
            .part("rtt", .roundTrip, fallback: "short") {
                if case .tcpBackoff(let roundTrip) = $0.recovery { roundTrip } else { nil }
            } set: {
                if case .tcpBackoff = $0.recovery { $0.recovery = .tcpBackoff(roundTrip: $1) }
            },
        ]
    )

    /// The words for `Recovery`.
    private enum RecoveryName: String, CaseIterable {
        case immediate
        case tcpBackoff = "tcp-backoff"
    }

    var kind: FaultKind { .outage(self) }
    var figures: FaultFigures { FaultFigures(text: "outage by \(how.rawValue)", outage: how) }
    var reasonAgainstMessages: String? { "it takes away the network, not a message" }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        let object = context.object
        if how != .silence, recovery != .immediate {
            decoder.report(
                "an outage that resets or refuses connections leaves none to recover",
                remedy: "delete “recovery”, or write “\"how\": \"silence\"”",
                at: object.place(of: "recovery")
            )
        }
        if recovery == .immediate, object["rtt"] != nil {
            decoder.report(
                "“rtt” is for the recovery “tcp-backoff” only",
                remedy: "delete it, or add “\"recovery\": \"tcp-backoff\"”",
                at: object.place(of: "rtt")
            )
        }
        if how != .silence, context.stream != .both {
            decoder.report(
                "an outage that resets or refuses connections acts on both directions",
                remedy: "delete “stream”, or write “\"how\": \"silence\"”",
                at: object.place(of: "stream")
            )
        }
    }
}
