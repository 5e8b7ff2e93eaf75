import Units

extension Truncate {
    static let keys: [KeyShape] = [
        .optional("at", .size),
        .required("bytes", .positiveSize),
        .optional("of", .choice(Origin.words)),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let at = decoder.size(object, "at") ?? .zero
        let origin = Origin(object, position: nil, &decoder)
        guard let bytes = decoder.positiveSize(object, "bytes") else { return nil }
        self.init(at: at, origin: origin, bytes: bytes)
    }
}
