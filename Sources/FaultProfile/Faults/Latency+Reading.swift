import Units

extension Latency {
    static let keys: [KeyShape] = [
        .required("delay", .duration),
        .optional("jitter", .duration),
        .optional("distribution", .choice(Distribution.allCases.map(\.rawValue))),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let jitter = decoder.duration(object, "jitter") ?? .zero
        let distribution = decoder.choice(object, "distribution", Distribution.self) ?? .uniform
        guard let delay = decoder.duration(object, "delay") else { return nil }
        self.init(delay: delay, jitter: jitter, distribution: distribution)
    }
}
