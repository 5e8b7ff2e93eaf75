extension Trigger {
    static let http = Trigger(
        .optional(
            "http",
            \.http,
            .object(.httpCondition, HTTPCondition.table, check: HTTPCondition.check),
            fallback: "every byte"
        ),
        "the HTTP messages during which it is on",
        .messages
    ) { $0.http?.sentence ?? "" }
}

extension HTTPCondition {
    /// "GET /files/* answered 206, request 2".
    fileprivate var sentence: String {
        var words = [method ?? "requests", path?.text].compactMap { $0 }
        words += fields.map { "with \($0.name): \($0.value.text)" }
        if let status { words.append("answered \(status.text)") }
        var parts = [words.joined(separator: " ")]
        if requests != .all { parts.append(requests.sentence("request")) }
        if chance < .always { parts.append("each with a chance of \(chance.text)") }
        return parts.joined(separator: ", ")
    }
}
