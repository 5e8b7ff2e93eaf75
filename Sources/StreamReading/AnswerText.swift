import FaultProfile

extension StreamReader {
    /// The bytes of an answer (RFC 9112, section 4); without content for a HEAD request.
    public func text(of answer: HTTPAnswer, to request: Int64) -> [UInt8] {
        let content = Array(answer.body.utf8)
        var text = "HTTP/1.1 \(answer.status) \(ReasonPhrase.of(answer.status))\r\nConnection: close\r\n"
        for field in answer.fields { text += "\(field.name): \(field.value)\r\n" }
        if !AnswerText.hasNoContent(answer.status) { text += "Content-Length: \(content.count)\r\n" }
        let hasContent = method(of: request) != "HEAD" && !AnswerText.hasNoContent(answer.status)
        return Array((text + "\r\n").utf8) + (hasContent ? content : [])
    }
}

enum AnswerText {
    fileprivate static func hasNoContent(_ status: Int) -> Bool { status == 204 || status == 304 }

    /// A response of the proxy itself, after which the connection ends; to HEAD without its content. `fields` are lines.
    static func last(_ status: Int, _ fields: String, _ content: String, toHead isHead: Bool) -> [UInt8] {
        let head =
            "HTTP/1.1 \(status) \(ReasonPhrase.of(status))\r\n\(fields)"
            + "Content-Length: \(content.utf8.count)\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
        return Array((isHead ? head : head + content).utf8)
    }
}
