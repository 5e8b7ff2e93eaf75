import Units

extension Latency {
    /// The distributions that have a word.
    enum Word: String, CaseIterable {
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

    static let keys: [KeyShape] = [
        .optional("delay", .duration),
        .optional("jitter", .duration),
        .optional("distribution", .choice(Word.allCases.map(\.rawValue))),
        .optional("quantiles", .quantiles),
        .optional("correlation", .chance),
        .optional("minimum", .duration),
        .optional("spikes", .spikes),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let jitter = decoder.duration(object, "jitter") ?? .zero
        let word = decoder.choice(object, "distribution", Word.self) ?? .uniform
        let quantiles = Latency.quantiles(object, &decoder)
        let delay = decoder.duration(object, "delay")
        if object["delay"] == nil, object["quantiles"] == nil {
            decoder.report(
                "a latency fault needs one of the keys “delay”, “quantiles”",
                remedy: "add “\"delay\": \"250 ms\"”",
                at: object.place
            )
        }
        self.init(
            delay: delay ?? .zero,
            jitter: jitter,
            distribution: quantiles.map(Distribution.quantiles) ?? word.distribution,
            correlation: decoder.chance(object, "correlation") ?? .never,
            minimum: decoder.duration(object, "minimum") ?? .zero,
            spikes: object["spikes"].flatMap { Spikes($0, &decoder) }
        )
        check(object, delay: delay, &decoder)
    }

    private static func quantiles(_ object: CheckedObject, _ decoder: inout ProfileDecoder) -> [Duration]? {
        guard let node = object["quantiles"] else { return nil }
        let remedy = "write two or more, from the smallest delay to the largest: “[\"20 ms\", \"30 ms\", \"90 ms\"]”"
        guard case .array = node.value else {
            decoder.reportType(of: node, expected: "a list of durations", key: "quantiles", remedy: remedy)
            return nil
        }
        let limit = ProfileLimits.quantiles
        guard let nodes = decoder.list(node, key: "quantiles", limit: limit, of: "quantiles in this table") else {
            return nil
        }
        guard nodes.count >= 2 else {
            decoder.report("there are fewer than two quantiles", remedy: remedy, at: node.place)
            return nil
        }
        var quantiles: [Duration] = []
        for node in nodes {
            guard
                let next = decoder.measure(node, key: "quantiles", example: "20 ms", Duration.init(parsing:))
            else { continue }
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

    /// Reports what doesn't go together. `delay` is `nil` where none is given, or none that can be read.
    private func check(_ object: CheckedObject, delay: Duration?, _ decoder: inout ProfileDecoder) {
        if object["quantiles"] != nil {
            for key in ["jitter", "distribution"] where object[key] != nil {
                decoder.report(
                    "\(key.quoted) and “quantiles” don't go together",
                    remedy: "delete \(key.quoted): the quantiles say how draws are distributed",
                    at: object.place(of: key)
                )
            }
        } else if let delay, minimum > delay {
            decoder.report(
                "the minimum, \(minimum.text), is above the delay, \(delay.text)",
                remedy: "write a minimum of at most the delay",
                at: object.place(of: "minimum")
            )
        }
        if distribution == .logNormal, delay == .zero {
            decoder.report(
                "a log-normal delay is never zero",
                remedy: "write a “delay” above zero, or another distribution",
                at: object.place(of: "delay")
            )
        }
    }
}

extension Latency.Spikes {
    /// “every”, “for” and “extra”; `nil` when one of them can't be read, which has been reported.
    init?(_ node: JSONNode, _ decoder: inout ProfileDecoder) {
        guard let object = decoder.object(node, .spikes) else { return nil }
        let every = decoder.period(object, "every")
        let duration = decoder.positiveDuration(object, "for")
        let extra = decoder.positiveDuration(object, "extra")
        guard let every, let duration, let extra else { return nil }
        if duration >= every {
            decoder.report(
                "a spike of \(duration.text) every \(every.text) never ends",
                remedy: "write a shorter “for”, or a longer “delay” instead of spikes",
                at: object.place(of: "for")
            )
        }
        self.init(every: every, duration: duration, extra: extra)
    }
}
