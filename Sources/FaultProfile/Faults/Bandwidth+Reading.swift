import Units

extension Bandwidth {
    static let keys: [KeyShape] = [
        .required("rate", .rate),
        .optional("burst", .size),
        .optional("shared", .flag),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let burst = decoder.size(object, "burst") ?? .zero
        let isShared = decoder.flag(object, "shared") ?? false
        guard let rate = decoder.rate(object, "rate") else { return nil }
        self.init(rate: rate, burst: burst, scope: isShared ? .proxy : .connection)
    }
}
