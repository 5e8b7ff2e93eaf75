import Units

extension HalfOpen {
    static let keys: [KeyShape] = [.optional("at", .size), .optional("after", .positiveDuration)]

    /// The words of `StreamSelection` that it takes: one direction has to be named.
    static let streams: [StreamSelection] = [.upstream, .downstream]

    init?(_ object: CheckedObject, _ decoder: inout ProfileDecoder) {
        decoder.checkOneOf(["at", "after"], of: object, title: "a half-open fault", example: "\"at\": \"64 KiB\"")
        if let node = object["stream"], case .text("both") = node.value {
            decoder.report(
                "a half-open connection is silent in one direction only",
                remedy: "write “upstream” or “downstream”, or use a “cut” with “\"how\": \"silence\"”",
                at: node.place
            )
        }
        let points = [
            decoder.size(object, "at").map(Point.at), decoder.positiveDuration(object, "after").map(Point.after),
        ]
        guard let point = points.compactMap({ $0 }).first else { return nil }
        self.init(point: point)
    }
}
