import Units

extension Slice {
    static let keys: [KeyShape] = [
        .required("size", .positiveSize),
        .optional("spread", .size),
        .optional("pause", .duration),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let spread = decoder.size(object, "spread") ?? .zero
        let pause = decoder.duration(object, "pause") ?? .zero
        guard let size = decoder.positiveSize(object, "size") else { return nil }
        if spread >= size {
            decoder.report(
                "the spread, \(spread.text), isn't below the size, \(size.text)",
                remedy: "write a smaller one, so that a slice has a byte at least",
                at: object["spread"]?.place ?? object.place
            )
        }
        self.init(size: size, spread: spread, pause: pause)
    }
}
