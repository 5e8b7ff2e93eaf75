import Units

/// Limits a stream to a rate.
public struct Bandwidth: Hashable, Sendable {
    /// The rate, or the rate at the start. Above zero.
    public var rate: BitRate
    /// The bytes that may pass at once at the start and after an idle time; zero for none.
    public var burst: ByteCount
    /// The connections that share the rate.
    public var scope: Scope
    /// How the rate changes over time.
    public var variation: Variation

    /// The connections that share a rate, separately for each direction.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// Each connection has the rate for itself.
        case connection
        /// All connections of a client's address to the proxy share it.
        case client
        /// All connections of the proxy share it (`"shared": true`).
        case proxy
        /// All connections of all proxies that run together share it.
        case global
    }

    /// How a rate changes, on the clock of the connection, or of the proxy or proxies that share it.
    public enum Variation: Hashable, Sendable {
        /// A constant rate.
        case steady
        /// One or more later rates, in order of time. Starts over after `repeats`, which is later than the last; `nil` is
        /// never.
        case steps([Step], repeats: Duration?)
        /// Linearly from `rate` up to `high`, above it, and back within a period, above zero and at most `longestPeriod`.
        case wave(high: BitRate, period: Duration)
    }

    /// The longest period of a wave: 24 h.
    public static let longestPeriod = Duration.seconds(86_400)

    /// A later rate.
    public struct Step: Hashable, Sendable {
        /// The time from the start. Above zero.
        public var after: Duration
        /// The rate from then on. Above zero.
        public var rate: BitRate
    }

    /// Makes a bandwidth; the rules are stated at the properties.
    public init(
        rate: BitRate,
        burst: ByteCount = .zero,
        scope: Scope = .connection,
        variation: Variation = .steady
    ) {
        self.rate = rate
        self.burst = burst
        self.scope = scope
        self.variation = variation
    }
}

extension Bandwidth: FaultDefinition {
    static let word = "bandwidth"
    static let summary = "No more than a rate passes, from the first byte on."
    static let example = #"{ "kind": "bandwidth", "stream": "downstream", "rate": "2 Mbit/s", "per": "proxy" }"#
    static let table = ObjectTable(
        Bandwidth(rate: BitRate(bitsPerSecond: 1)),
        texts: """
            rate: the rate in each direction; with `steps`, the first one. Required without `wave`
            burst: bytes that may pass at once at the start and after an idle time
            shared: short for `per`: `true` is `proxy`, `false` is `connection`; not both keys
            per: the connections that share the rate, see below
            steps: rates that replace `rate`, one after the other
            repeat: with `steps`: when they start over, `rate` first
            wave: in place of `rate` and `steps`: a rate that goes up and down
            """,
        rules: [("oneOf", .array([.requires("rate"), .requires("wave")]))],
        writtenFirst: ["rate", "steps", "repeat", "wave"],
        [
            .part("rate", .rate) {
                if case .wave = $0.variation { nil } else { $0.rate }
            } set: {
                $0.rate = $1
            },
            .optional("burst", \.burst, .size, default: .zero),
            .part("shared", .flag, fallback: "`false`") { _ in
                nil
            } set: {
                $0.scope = $1 ? .proxy : .connection
            },
            .optional("per", \.scope, .choice, default: .connection),
            .part("steps", stepList) {
                if case .steps(let steps, _) = $0.variation { steps } else { nil }
            } set: {
                $0.variation = .steps($1, repeats: nil)
            },
            .part("repeat", repetition, fallback: "never") {
                if case .steps(_, let repeats) = $0.variation { repeats } else { nil }
            } set: {
                if case .steps(let steps, _) = $0.variation { $0.variation = .steps(steps, repeats: $1) }
            },
            .part("wave", .object(.wave, Wave.table, check: Wave.check)) { bandwidth in
                guard case .wave(let high, let period) = bandwidth.variation else { return nil }
                return Wave(low: bandwidth.rate, high: high, period: period)
            } set: {
                ($0.rate, $0.variation) = ($1.low, .wave(high: $1.high, period: $1.period))
            },
        ]
    )

    private static let repetition = Form.period
        .described("duration, at least `\"1 ms\"` and longer than the last step's `after`")

    /// A wave in a profile.
    struct Wave: Sendable {
        var low: BitRate
        var high: BitRate
        var period: Duration

        static let table = ObjectTable(
            Wave(low: BitRate(bitsPerSecond: 1), high: BitRate(bitsPerSecond: 1), period: .zero),
            title: "“wave”",
            definition: "wave",
            texts: """
                low: the lowest rate, at the start of each period
                high: the highest rate, in the middle of each period; above the lowest
                period: the time up and down again, 24 h at most
                """,
            [.required("low", \.low, .rate), .required("high", \.high, .rate), .required("period", \.period, .period)]
        )

        fileprivate static func check(_ wave: Wave, _ object: CheckedObject, _ decoder: inout ProfileDecoder) {
            if wave.low >= wave.high {
                decoder.report(
                    "the wave goes from \(wave.low.text) to \(wave.high.text)",
                    remedy: "write a “high” above the “low”, or a “rate” instead",
                    at: object.place(of: "high")
                )
            }
            if wave.period > Bandwidth.longestPeriod {
                decoder.report(
                    "the period \(wave.period.text) is longer than \(Bandwidth.longestPeriod.text)",
                    remedy: "write a shorter one, or “steps” instead",
                    at: object.place(of: "period")
                )
            }
        }
    }

    private static let stepList = Form<[Step]>(
        .steps,
        read: { steps($0, key: $1, &$2) },
        write: { .array($0.map { .object(Step.table.written($0)) }) }
    )

    private static func steps(_ node: JSONNode, key: String, _ decoder: inout ProfileDecoder) -> [Step]? {
        let limit = ProfileLimits.rateSteps
        guard let nodes = decoder.list(node, key: key, limit: limit, of: "steps of this rate") else { return nil }
        guard !nodes.isEmpty else {
            decoder.report("the list of steps is empty", remedy: "delete it, or write a step", at: node.place)
            return nil
        }
        var steps: [Step] = []
        for node in nodes {
            let step = Step.table.read(node, &decoder) { step, object, decoder in
                guard let last = steps.last, step.after <= last.after else { return }
                decoder.report(
                    "the step at \(step.after.text) is no later than the one before, at \(last.after.text)",
                    remedy: "write the steps in order, each counted from the start",
                    at: object.place(of: "after")
                )
            }
            if let step { steps.append(step) }
        }
        return steps.isEmpty ? nil : steps
    }

    static var limits: [(text: String, name: String, value: String)] {
        [("period of a wave", "Bandwidth.longestPeriod", longestPeriod.text)]
    }

    var kind: FaultKind { .bandwidth(self) }
    var figures: FaultFigures {
        switch variation {
        case .steady:
            return FaultFigures(text: "bandwidth \(rate.text)", rate: rate)
        case .steps(let steps, _):
            let rates = steps.map(\.rate.text).joined(separator: ", ")
            return FaultFigures(text: "bandwidth \(rate.text), then \(rates)", rate: rate)
        case .wave(let high, let period):
            let mean = BitRate(bitsPerSecond: rate.bitsPerSecond + (high.bitsPerSecond - rate.bitsPerSecond) / 2)
            return FaultFigures(text: "bandwidth \(rate.text) to \(high.text) within \(period.text)", rate: mean)
        }
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        let object = context.object
        if object["shared"] != nil, object["per"] != nil {
            decoder.report(
                "“shared” and “per” say the same twice",
                remedy: "delete “shared”: true is “\"per\": \"proxy\"”, false is “\"per\": \"connection\"”",
                at: object.place(of: "shared")
            )
        }
        if object["repeat"] != nil, object["steps"] == nil {
            decoder.report(
                "“repeat” without “steps” has nothing to repeat",
                remedy: "delete it, or add “steps”",
                at: object.place(of: "repeat")
            )
        }
        if case .steps(let steps, let repeats?) = variation, let last = steps.last, repeats <= last.after {
            decoder.report(
                "the steps start over at \(repeats.text), before the last of them, at \(last.after.text), has begun",
                remedy: "write a longer “repeat”",
                at: object.place(of: "repeat")
            )
        }
        if object["rate"] == nil, object["wave"] == nil {
            decoder.report(
                "a bandwidth fault needs one of the keys “rate”, “wave”",
                remedy: "add “\"rate\": \"20 Mbit/s\"”",
                at: object.place
            )
        }
        for key in ["rate", "steps"] where object[key] != nil && object["wave"] != nil {
            decoder.report(
                "\(key.quoted) and “wave” don't go together",
                remedy: "delete one of them",
                at: object.place(of: key)
            )
        }
    }
}

extension Bandwidth.Step {
    static let table = ObjectTable(
        Bandwidth.Step(after: .zero, rate: BitRate(bitsPerSecond: 1)),
        title: "a step",
        definition: "step",
        texts: """
            after: when, counted from the start and not from the step before
            rate: the rate from then on
            """,
        [.required("after", \.after, .positiveDuration), .required("rate", \.rate, .rate)]
    )
}
