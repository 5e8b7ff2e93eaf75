import Units

extension ConnectionLimit {
    static let keys: [KeyShape] = [
        .required("limit", .connectionCount),
        .optional("how", .choice(Manner.allCases.map(\.rawValue))),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let how = decoder.choice(object, "how", Manner.self) ?? .refuse
        decoder.checkBothStreams(object, title: "a connection-limit fault acts on connections as a whole")
        guard let node = object["limit"],
            let limit = decoder.wholeNumber(node, key: "limit", in: 1...UInt64(ConnectionLimit.largest))
        else { return nil }
        self.init(limit: Int(limit), how: how)
    }

    /// Reports a condition that picks connections: all that are open are counted.
    func check(_ condition: Condition, in object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let picks = condition.connections != .all || condition.chance < .always
        guard picks || condition.ageFrom > .zero || condition.ageUntil != nil else { return }
        decoder.report(
            "a connection-limit fault counts every open connection, whichever it is",
            remedy: "delete “connection”, “chance” and “age” from “when”",
            at: object.place(of: "when")
        )
    }
}
