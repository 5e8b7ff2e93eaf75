import Units

extension Connect {
    /// The words for `Manner`.
    enum MannerName: String, CaseIterable {
        case delay
        case hang
        case refuse
        case close
    }

    static let keys: [KeyShape] = [
        .required("how", .choice(MannerName.allCases.map(\.rawValue))),
        .optional("for", .positiveDuration),
        .optional("jitter", .duration),
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        let time = decoder.positiveDuration(object, "for")
        let jitter = decoder.duration(object, "jitter")
        guard let name = decoder.choice(object, "how", MannerName.self) else { return nil }
        decoder.checkBothStreams(object, title: "a connect fault acts on the connection as a whole")
        if name != .delay { Connect.checkNoTime(object, name, &decoder) }
        switch name {
        case .delay:
            guard let time else {
                if object["for"] == nil {
                    decoder.report(
                        "a connect fault that delays needs the key “for”",
                        remedy: "add “\"for\": \"2 s\"”",
                        at: object.place
                    )
                }
                return nil
            }
            self.init(how: .delay(time, jitter: jitter ?? .zero))
        case .hang: self.init(how: .hang)
        case .refuse: self.init(how: .refuse)
        case .close: self.init(how: .close)
        }
    }

    private static func checkNoTime(_ object: CheckedObject, _ name: MannerName, _ decoder: inout ProfileDecoder) {
        for key in ["for", "jitter"] where object[key] != nil {
            decoder.report(
                "\(key.quoted) is for a connect fault that delays, not for \(name.rawValue.quoted)",
                remedy: name == .hang ? "delete it, and put the fault into a phase that lasts as long" : "delete it",
                at: object.place(of: key)
            )
        }
    }

    /// Reports an age at which no connection begins, and an end of what doesn't last.
    func check(_ condition: Condition, in object: CheckedObject, _ decoder: inout ProfileDecoder) {
        if condition.ageFrom > .zero {
            decoder.report(
                "a connect fault acts when a connection begins, not from an age of \(condition.ageFrom.text) on",
                remedy: "delete “age”, or write a “stall” or an “outage”",
                at: object.place(of: "when")
            )
        } else if let end = condition.ageUntil, how != .hang {
            decoder.report(
                "a connect fault acts when a connection begins, and only one that hangs ends at an age of \(end.text)",
                remedy: "delete “age”, or write “\"how\": \"hang\"”",
                at: object.place(of: "when")
            )
        }
    }
}

extension ProfileDecoder {
    /// Reports a single direction for a fault that is about whole connections.
    mutating func checkBothStreams(_ object: CheckedObject, title: String) {
        guard let node = object["stream"], case .text(let word) = node.value else { return }
        guard let stream = StreamSelection(rawValue: word), stream != .both else { return }
        report("\(title), not on the \(word) direction alone", remedy: "delete “stream”", at: node.place)
    }
}
