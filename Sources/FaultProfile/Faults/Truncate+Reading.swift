import Units

extension Truncate {
    static let keys: [KeyShape] = [
        .optional("at", .size),
        .required("bytes", .positiveSize),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let at = decoder.size(object, "at") ?? .zero
        guard let bytes = decoder.positiveSize(object, "bytes") else { return nil }
        self.init(at: at, bytes: bytes)
    }
}
