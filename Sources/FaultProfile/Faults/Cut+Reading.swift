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
        .optional("how", .choice(Ending.allCases.map(\.rawValue))),
        .optional("of", .choice(Origin.allCases.map(\.rawValue))),
    ]

    /// The keys of which a cut has exactly one.
    static let positionKeys = ["at", "every", "between"]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let how = decoder.choice(object, "how", Ending.self) ?? .reset
        Cut.checkOrigin(object, &decoder)
        let given = Cut.positionKeys.filter { object[$0] != nil }
        let list = Cut.positionKeys.map(\.quoted).joined(separator: ", ")
        if given.isEmpty {
            decoder.report(
                "a cut fault needs one of the keys \(list)",
                remedy: "add “\"at\": \"64 KiB\"”",
                at: object.place
            )
        } else if given.count > 1 {
            decoder.report(
                "a cut fault has exactly one of the keys \(list)",
                remedy: "delete “\(given[1])”, and make a fault of its own of it",
                at: object.place(of: given[1])
            )
        }
        let positions = [
            Cut.offsets(object, &decoder),
            decoder.positiveSize(object, "every").map(Position.every),
            Cut.range(object, &decoder),
        ]
        guard let position = positions.compactMap({ $0 }).first else { return nil }
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

    private static func range(_ object: CheckedObject, _ decoder: inout ProfileDecoder) -> Position? {
        guard let node = object["between"] else { return nil }
        let remedy = "write the lower and the upper offset: “[\"1 MB\", \"10 MB\"]”"
        guard case .array(let nodes) = node.value else {
            decoder.reportType(of: node, expected: "a list of two sizes", key: "between", remedy: remedy)
            return nil
        }
        guard nodes.count == 2 else {
            decoder.report("“between” has \(nodes.count) values, not two", remedy: remedy, at: node.place)
            return nil
        }
        let sizes = nodes.compactMap {
            decoder.measure($0, key: "between", example: "1 MB", ByteCount.init(parsing:))
        }
        guard sizes.count == 2 else { return nil }
        guard sizes[0] <= sizes[1] else {
            decoder.report(
                "the lower offset, \(sizes[0].text), is above the upper one, \(sizes[1].text)",
                remedy: "write the smaller one first",
                at: node.place
            )
            return nil
        }
        return .between(sizes[0], sizes[1])
    }
}
