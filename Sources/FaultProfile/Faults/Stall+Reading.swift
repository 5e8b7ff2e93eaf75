import Units

extension Stall {
    static let keys: [KeyShape] = [
        .optional("at", .size),
        .required("for", .positiveDuration),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let at = decoder.size(object, "at") ?? .zero
        guard let duration = decoder.positiveDuration(object, "for") else { return nil }
        self.init(at: at, duration: duration)
    }
}
