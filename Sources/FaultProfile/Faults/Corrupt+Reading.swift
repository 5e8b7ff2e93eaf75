import Units

extension Corrupt {
    static let keys: [KeyShape] = [
        .optional("at", .size),
        .optional("between", .sizeRange),
        .optional("rate", .chance),
        .optional("of", .choice(Origin.words)),
        .optional("bit", .bit),
    ]

    /// The keys of which a corruption has exactly one.
    static let positionKeys = ["at", "between", "rate"]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        decoder.checkOneOf(Corrupt.positionKeys, of: object, title: "a corrupt fault", example: "\"at\": \"1 MiB\"")
        let positions = [
            decoder.size(object, "at").map(Position.at),
            decoder.sizeRange(object, "between").map { Position.between($0.low, $0.high) },
            Corrupt.rate(object, &decoder),
        ]
        let bit = object["bit"].flatMap { decoder.wholeNumber($0, key: "bit", in: 0...7) }
        guard let position = positions.compactMap({ $0 }).first else { return nil }
        let given = Corrupt.positionKeys.first { object[$0] != nil }.map { (key: $0, countsBytes: $0 != "rate") }
        self.init(position: position, origin: Origin(object, position: given, &decoder), bit: bit.map(Int.init))
    }

    private static func rate(_ object: CheckedObject, _ decoder: inout ProfileDecoder) -> Position? {
        guard let rate = decoder.chance(object, "rate") else { return nil }
        guard rate > .never else {
            let place = object.place(of: "rate")
            decoder.report("a rate of 0 % corrupts nothing", remedy: "write “0.001 %”, or delete the fault", at: place)
            return nil
        }
        return .rate(rate)
    }
}
