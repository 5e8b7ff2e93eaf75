import Units

extension Bandwidth {
    static let keys: [KeyShape] = [
        .optional("rate", .rate),
        .optional("burst", .size),
        .optional("shared", .flag),
        .optional("per", .choice(Scope.allCases.map(\.rawValue))),
        .optional("steps", .steps),
        .optional("repeat", .period),
        .optional("wave", .wave),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let burst = decoder.size(object, "burst") ?? .zero
        let scope = Bandwidth.scope(object, &decoder)
        let rate = decoder.rate(object, "rate")
        let steps = object["steps"].flatMap { Bandwidth.steps($0, &decoder) }
        let repeats = Bandwidth.repeats(object, after: steps?.last, &decoder)
        let wave = object["wave"].flatMap { Wave($0, &decoder) }
        Bandwidth.checkRate(object, &decoder)
        if let wave {
            self.init(rate: wave.low, burst: burst, scope: scope, course: .wave(high: wave.high, period: wave.period))
        } else if let rate {
            let course = steps.map { Course.steps($0, repeats: repeats) } ?? .steady
            self.init(rate: rate, burst: burst, scope: scope, course: course)
        } else {
            return nil
        }
    }

    /// A wave as a profile has it.
    private struct Wave {
        let low: BitRate
        let high: BitRate
        let period: Duration

        init?(_ node: JSONNode, _ decoder: inout ProfileDecoder) {
            guard let object = decoder.object(node, .wave) else { return nil }
            let low = decoder.rate(object, "low")
            let high = decoder.rate(object, "high")
            let period = decoder.period(object, "period")
            guard let low, let high, let period else { return nil }
            if low >= high {
                decoder.report(
                    "the wave goes from \(low.text) to \(high.text)",
                    remedy: "write a “high” above the “low”, or a “rate” instead",
                    at: object.place(of: "high")
                )
            }
            if period > Bandwidth.longestPeriod {
                decoder.report(
                    "the period \(period.text) is longer than \(Bandwidth.longestPeriod.text)",
                    remedy: "write a shorter one, or “steps” instead",
                    at: object.place(of: "period")
                )
            }
            (self.low, self.high, self.period) = (low, high, period)
        }
    }

    private static func scope(_ object: CheckedObject, _ decoder: inout ProfileDecoder) -> Scope {
        let isShared = decoder.flag(object, "shared")
        let scope = decoder.choice(object, "per", Scope.self)
        if object["shared"] != nil, object["per"] != nil {
            decoder.report(
                "“shared” and “per” say the same twice",
                remedy: "delete “shared”: true is “\"per\": \"proxy\"”, false is “\"per\": \"connection\"”",
                at: object.place(of: "shared")
            )
        }
        return scope ?? (isShared == true ? .proxy : .connection)
    }

    private static func steps(_ node: JSONNode, _ decoder: inout ProfileDecoder) -> [Step]? {
        let limit = ProfileLimits.rateSteps
        guard let nodes = decoder.list(node, key: "steps", limit: limit, of: "steps of this rate") else { return nil }
        guard !nodes.isEmpty else {
            decoder.report("the list of steps is empty", remedy: "delete it, or write a step", at: node.place)
            return nil
        }
        var steps: [Step] = []
        for node in nodes {
            guard let object = decoder.object(node, .step) else { continue }
            let after = decoder.positiveDuration(object, "after")
            let rate = decoder.rate(object, "rate")
            guard let after, let rate else { continue }
            if let last = steps.last, after <= last.after {
                decoder.report(
                    "the step at \(after.text) is no later than the one before, at \(last.after.text)",
                    remedy: "write the steps in order, each counted from the start",
                    at: object.place(of: "after")
                )
            }
            steps.append(Step(after: after, rate: rate))
        }
        return steps.isEmpty ? nil : steps
    }

    private static func repeats(
        _ object: CheckedObject,
        after last: Step?,
        _ decoder: inout ProfileDecoder
    ) -> Duration? {
        let repeats = decoder.period(object, "repeat")
        if object["repeat"] != nil, object["steps"] == nil {
            decoder.report(
                "“repeat” without “steps” has nothing to repeat",
                remedy: "delete it, or add “steps”",
                at: object.place(of: "repeat")
            )
        }
        if let repeats, let last, repeats <= last.after {
            decoder.report(
                "the steps start over at \(repeats.text), before the last of them, at \(last.after.text), has begun",
                remedy: "write a longer “repeat”",
                at: object.place(of: "repeat")
            )
        }
        return repeats
    }

    /// Reports the want of a rate, and two that contradict each other.
    private static func checkRate(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard object["wave"] != nil else {
            if object["rate"] == nil {
                decoder.report(
                    "a bandwidth fault needs one of the keys “rate”, “wave”",
                    remedy: "add “\"rate\": \"20 Mbit/s\"”",
                    at: object.place
                )
            }
            return
        }
        for key in ["rate", "steps"] where object[key] != nil {
            decoder.report(
                "\(key.quoted) and “wave” don't go together",
                remedy: "delete one of them",
                at: object.place(of: key)
            )
        }
    }
}
