import Units

/// Delays every byte by `delay` with jitter. Bytes keep their order.
public struct Latency: Hashable, Sendable {
    /// The delay in one direction. Zero or more; above zero with `logNormal`.
    public var delay: Duration
    /// The largest deviation from `delay` (uniform) or the standard deviation (others). Zero or more; unused with `quantiles`.
    public var jitter: Duration
    /// How draws are distributed around `delay`.
    public var distribution: Distribution
    /// The correlation of successive draws: 0 is none, 1 is one draw for all bytes.
    public var correlation: Probability
    /// The lower bound of draws. Zero or more.
    public var minimum: Duration
    /// Times with an extra delay.
    public var spikes: Spikes?

    /// How draws are distributed.
    public enum Distribution: Hashable, Sendable {
        /// Evenly from `delay` − `jitter` to `delay` + `jitter`.
        case uniform
        /// The bell curve around `delay` with a standard deviation of `jitter`.
        case normal
        /// Pareto's of shape 3, with the mean `delay` and the standard deviation `jitter`: never below
        /// `delay` − 0.58 × `jitter`, and now and then far above.
        case pareto
        /// The log-normal one with the mean `delay` and the standard deviation `jitter`.
        case logNormal
        /// Equally spaced quantiles of the addition to `delay`, ascending, two or more; linear in between.
        case quantiles([Duration])
    }

    /// Periodic times with an extra delay.
    public struct Spikes: Hashable, Sendable {
        /// The period. The first spike begins at a drawn time.
        public var every: Duration
        /// The length of a spike: above zero, below `every`.
        public var duration: Duration
        /// The extra delay of bytes that come during a spike. Above zero.
        public var extra: Duration
        /// Whether the delay lies behind the bottleneck: the bytes after a spike catch up at once, whatever the rate is. If
        /// not, the link stands still for as long as bytes of the spike are on their way, and then goes on at its rate.
        public var isBehind = false
        /// On whose clock the spikes are.
        public var scope: Scope = .connection

        /// On whose clock spikes are.
        public enum Scope: String, Hashable, Sendable, CaseIterable {
            /// That of the connection, drawn for each direction.
            case connection
            /// That of the proxy: all connections have them at the same time, in both directions.
            case proxy
        }
    }

    /// Makes a latency; all durations are zero or more.
    public init(
        delay: Duration,
        jitter: Duration = .zero,
        distribution: Distribution = .uniform,
        correlation: Probability = .never,
        minimum: Duration = .zero,
        spikes: Spikes? = nil
    ) {
        self.delay = delay
        self.jitter = jitter
        self.distribution = distribution
        self.correlation = correlation
        self.minimum = minimum
        self.spikes = spikes
    }
}

extension Latency: FaultDefinition {
    static let word = "latency"
    static let summary = "Every byte arrives later."
    static let example = #"{ "kind": "latency", "delay": "300 ms", "jitter": "20 ms", "distribution": "normal" }"#
    static let table = ObjectTable(
        Latency(delay: .zero),
        texts: """
            delay: the delay in each direction
            jitter: the spread of draws, see below; never below zero
            distribution: the distribution of draws, see below
            quantiles: in place of `jitter` and `distribution`: equally spaced quantiles of the time added to `delay`
            correlation: correlation with the previous draw; at `"100 %"` all bytes share one
            minimum: the smallest draw; lower ones count as this
            spikes: times of additional delay
            """,
        rules: [("if", .requires("quantiles")), ("else", .requires("delay"))],
        writtenFirst: ["quantiles"],
        [
            .part("delay", .durationSpread, fallback: "`\"0 s\"` with `quantiles`, else it has to be given") {
                $0.writtenDelay
            } set: {
                ($0.delay, $0.jitter) = ($1.middle, $1.deviation ?? .zero)
            },
            .optional("jitter", \.jitter, .duration, default: .zero),
            .part("distribution", .choice, fallback: "`uniform`") {
                $0.word
            } set: {
                $0.distribution = $1.distribution
            },
            .part("quantiles", quantileTable) {
                $0.quantiles
            } set: {
                $0.distribution = .quantiles($1)
            },
            .optional("correlation", \.correlation, .chance, default: .never),
            .optional("minimum", \.minimum, .duration.described("duration, at most `delay`"), default: .zero),
            .optional("spikes", \.spikes, .object(.spikes, Spikes.table, check: Spikes.check)),
        ]
    )

    /// The distributions that have a word.
    private enum Word: String, CaseIterable {
        case uniform
        case normal
        case pareto
        case logNormal = "log-normal"

        var distribution: Distribution {
            switch self {
            case .uniform: .uniform
            case .normal: .normal
            case .pareto: .pareto
            case .logNormal: .logNormal
            }
        }
    }

    private var writtenDelay: DurationSpread? { delay > .zero || quantiles == nil ? DurationSpread(delay) : nil }
    private var word: Word? { Word.allCases.first { $0 != .uniform && $0.distribution == distribution } }
    private var quantiles: [Duration]? { if case .quantiles(let table) = distribution { table } else { nil } }

    private static let quantileTable = Form<[Duration]>(
        .quantiles,
        read: { quantiles($0, key: $1, &$2) },
        write: { .array($0.map { .text($0.text) }) }
    )

    private static func quantiles(_ node: JSONNode, key: String, _ decoder: inout ProfileDecoder) -> [Duration]? {
        let remedy = "write two or more, from the smallest delay to the largest: “[\"20 ms\", \"30 ms\", \"90 ms\"]”"
        guard case .array = node.value else {
            decoder.reportType(of: node, expected: "a list of durations", key: key, remedy: remedy)
            return nil
        }
        let limit = ProfileLimits.quantiles
        guard let nodes = decoder.list(node, key: key, limit: limit, of: "quantiles in this table") else { return nil }
        guard nodes.count >= 2 else {
            decoder.report("there are fewer than two quantiles", remedy: remedy, at: node.place)
            return nil
        }
        var quantiles: [Duration] = []
        for node in nodes {
            guard let next = decoder.measure(node, key: key, example: "20 ms", Duration.init(parsing:)) else {
                continue
            }
            if let last = quantiles.last, next < last {
                decoder.report(
                    "the quantile \(next.text) is below the one before, \(last.text)",
                    remedy: "write them from the smallest to the largest",
                    at: node.place
                )
            }
            quantiles.append(next)
        }
        return quantiles
    }

    var kind: FaultKind { .latency(self) }
    var figures: FaultFigures {
        if case .quantiles(let table) = distribution, let least = table.first, let most = table.last {
            let median = (table[(table.count - 1) / 2] + table[table.count / 2]) / 2
            let range = "\((delay + least).text) to \((delay + most).text)"
            return FaultFigures(text: "latency \(range), half below \((delay + median).text)")
        }
        let text = "latency \(delay.text)" + (jitter > .zero ? " ± \(jitter.text)" : "")
        return FaultFigures(text: text, delay: delay, jitter: jitter)
    }

    func check(_ context: FaultContext, _ decoder: inout ProfileDecoder) {
        let object = context.object
        if object["delay"] == nil, object["quantiles"] == nil {
            decoder.report(
                "a latency fault needs one of the keys “delay”, “quantiles”",
                remedy: "add “\"delay\": \"250 ms\"”",
                at: object.place
            )
        }
        checkDeviation(of: object, &decoder)
        // One that can't be read has been reported.
        let isUnread = context.unread.contains("delay")
        if object["quantiles"] != nil {
            for key in ["jitter", "distribution"] where object[key] != nil {
                decoder.report(
                    "\(key.quoted) and “quantiles” don't go together",
                    remedy: "delete \(key.quoted): the quantiles say how draws are distributed",
                    at: object.place(of: key)
                )
            }
        } else if !isUnread, minimum > delay {
            decoder.report(
                "the minimum, \(minimum.text), is above the delay, \(delay.text)",
                remedy: "write a minimum of at most the delay",
                at: object.place(of: "minimum")
            )
        }
        if distribution == .logNormal, !isUnread, delay == .zero {
            decoder.report(
                "a log-normal delay is never zero",
                remedy: "write a “delay” above zero, or another distribution",
                at: object.place(of: "delay")
            )
        }
    }
}

extension Latency {
    /// Reports a jitter in `delay` beside another one, or beside quantiles.
    fileprivate func checkDeviation(of object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard case .text(let text) = object["delay"]?.value, (try? DurationSpread(parsing: text))?.deviation != nil,
            let key = ["jitter", "quantiles"].first(where: { object[$0] != nil })
        else { return }
        decoder.report(
            "the delay \(text.quoted) has its jitter, and \(key.quoted) gives another",
            remedy: "delete one of them",
            at: object.place(of: key)
        )
    }
}

extension Latency.Spikes {
    static let table = ObjectTable(
        Latency.Spikes(every: .zero, duration: .zero, extra: .zero),
        title: "“spikes”",
        definition: "spikes",
        texts: """
            every: from the beginning of one spike to that of the next
            for: how long a spike lasts; less than `every`
            extra: what is added to the delay of the bytes that come meanwhile
            behind: whether the delay lies behind the bottleneck, so that later bytes catch up at once, see below
            per: whose clock counts; with `proxy` all connections have the same spikes, in both directions
            """,
        [
            .required("every", \.every, .period), .required("for", \.duration, .positiveDuration),
            .required("extra", \.extra, .positiveDuration), .optional("behind", \.isBehind, .flag, default: false),
            .optional("per", \.scope, .choice, default: .connection),
        ]
    )

    fileprivate static func check(_ spikes: Self, _ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard spikes.duration >= spikes.every else { return }
        decoder.report(
            "a spike of \(spikes.duration.text) every \(spikes.every.text) never ends",
            remedy: "write a shorter “for”, or a longer “delay” instead of spikes",
            at: object.place(of: "for")
        )
    }
}
