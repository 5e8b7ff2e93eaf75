import Units

extension SlowClose {
    static let keys: [KeyShape] = [.required("by", .positiveDuration)]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard let delay = decoder.positiveDuration(object, "by") else { return nil }
        self.init(delay: delay)
    }
}
