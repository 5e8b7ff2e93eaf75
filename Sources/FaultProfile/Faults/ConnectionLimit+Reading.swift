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
        guard !condition.isForEverybody else { return }
        decoder.report(
            "a connection-limit fault counts every open connection, whichever it is",
            remedy: "leave “clock”, “duty” and “after” in “when”, and delete the rest",
            at: object.place(of: "when")
        )
    }
}
