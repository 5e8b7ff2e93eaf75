import Units

extension Stall {
    static let keys: [KeyShape] = [
        .optional("at", .size),
        .required("for", .positiveDuration),
        .optional("of", .choice(Origin.words)),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let at = decoder.size(object, "at") ?? .zero
        let origin = Origin(object, position: nil, &decoder)
        guard let duration = decoder.positiveDuration(object, "for") else { return nil }
        self.init(at: at, origin: origin, duration: duration)
    }
}
