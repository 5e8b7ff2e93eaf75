import Units

extension Outage {
    static let keys: [KeyShape] = [
        .required("how", .choice(Manner.allCases.map(\.rawValue)))
    ]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        guard let how = decoder.choice(object, "how", Manner.self) else { return nil }
        self.init(how: how)
    }

    /// Reports a single direction for an outage that resets or refuses connections: those end as a whole.
    func check(stream: StreamSelection, in object: CheckedObject, _ decoder: inout ProfileDecoder) {
        switch how {
        case .silence: return
        case .refuse, .reset: break
        }
        guard stream != .both else { return }
        decoder.report(
            "an outage that resets or refuses connections acts on both directions",
            remedy: "delete “stream”, or write “\"how\": \"silence\"”",
            at: object.place(of: "stream")
        )
    }
}
