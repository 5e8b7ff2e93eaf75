import Units

extension Cut {
    static let keys: [KeyShape] = [
        .optional("at", .cutOffsets),
        .optional("every", .positiveSize),
        .optional("between", .sizeRange),
        .optional("after", .positiveDuration),
        .optional("idle", .positiveDuration),
        .optional("pattern", .pattern),
        .optional("how", .choice(Ending.allCases.map(\.rawValue))),
        .optional("of", .choice(Origin.words)),
    ]

    /// The keys of which a cut has exactly one.
    static let positionKeys = ["at", "every", "between", "after", "idle", "pattern"]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let how = decoder.choice(object, "how", Ending.self) ?? .reset
        decoder.checkOneOf(Cut.positionKeys, of: object, title: "a cut fault", example: "\"at\": \"64 KiB\"")
        let positions = [
            Cut.offsets(object, &decoder),
            decoder.positiveSize(object, "every").map(Position.every),
            decoder.sizeRange(object, "between").map { Position.between($0.low, $0.high) },
            decoder.positiveDuration(object, "after").map(Position.after),
            decoder.positiveDuration(object, "idle").map(Position.idle),
            decoder.pattern(object, "pattern").map(Position.pattern),
        ]
        guard let position = positions.compactMap({ $0 }).first else { return nil }
        switch position {
        case .after, .idle: decoder.checkBothStreams(object, title: "a cut by time acts on the connection as a whole")
        case .at, .inTurn, .every, .between, .pattern: break
        }
        let given = Cut.positionKeys.first { object[$0] != nil }.map {
            (key: $0, countsBytes: ["at", "every", "between"].contains($0))
        }
        self.init(position: position, how: how, origin: Origin(object, position: given, &decoder))
    }

    private static func offsets(_ object: CheckedObject, _ decoder: inout ProfileDecoder) -> Position? {
        guard let node = object["at"] else { return nil }
        guard case .array = node.value else { return decoder.size(object, "at").map(Position.at) }
        let limit = ProfileLimits.cutOffsets
        guard let nodes = decoder.list(node, key: "at", limit: limit, of: "offsets in this cut") else { return nil }
        guard !nodes.isEmpty else {
            decoder.report("the list of offsets is empty", remedy: "write “\"at\": \"64 KiB\"”", at: node.place)
            return nil
        }
        let offsets = nodes.compactMap {
            decoder.measure($0, key: "at", example: "64 KiB", ByteCount.init(parsing:))
        }
        return offsets.count == nodes.count ? .inTurn(offsets) : nil
    }
}
