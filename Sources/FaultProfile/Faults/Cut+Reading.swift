import Units

extension Cut {
    /// What offsets are counted in.
    enum Origin: String, CaseIterable {
        /// The bytes of the connection.
        case connection
    }

    static let keys: [KeyShape] = [
        .optional("at", .cutOffsets),
        .optional("every", .positiveSize),
        .optional("between", .sizeRange),
        .optional("after", .positiveDuration),
        .optional("idle", .positiveDuration),
        .optional("how", .choice(Ending.allCases.map(\.rawValue))),
        .optional("of", .choice(Origin.allCases.map(\.rawValue))),
    ]

    /// The keys of which a cut has exactly one.
    static let positionKeys = ["at", "every", "between", "after", "idle"]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let how = decoder.choice(object, "how", Ending.self) ?? .reset
        Cut.checkOrigin(object, &decoder)
        decoder.checkOneOf(Cut.positionKeys, of: object, title: "a cut fault", example: "\"at\": \"64 KiB\"")
        let positions = [
            Cut.offsets(object, &decoder),
            decoder.positiveSize(object, "every").map(Position.every),
            decoder.sizeRange(object, "between").map { Position.between($0.low, $0.high) },
            decoder.positiveDuration(object, "after").map(Position.after),
            decoder.positiveDuration(object, "idle").map(Position.idle),
        ]
        guard let position = positions.compactMap({ $0 }).first else { return nil }
        switch position {
        case .after, .idle: Cut.checkBothStreams(object, &decoder)
        case .at, .inTurn, .every, .between: break
        }
        self.init(position: position, how: how)
    }

    private static func checkOrigin(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard let node = object["of"] else { return }
        if case .text(let word) = node.value, word == "body" || word == "resource" {
            decoder.report(
                "cuts count the bytes of the connection only: \(word.quoted) is not known yet",
                remedy: "write “connection”, and add the size of the message's head to the offset",
                at: node.place
            )
            return
        }
        _ = decoder.choice(object, "of", Origin.self)
    }

    /// Time ends a connection as a whole.
    private static func checkBothStreams(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard let node = object["stream"], case .text(let word) = node.value else { return }
        guard let stream = StreamSelection(rawValue: word), stream != .both else { return }
        decoder.report(
            "a cut by time ends both directions, not the \(word) one alone",
            remedy: "delete “stream”",
            at: node.place
        )
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
