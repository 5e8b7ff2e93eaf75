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

private enum AnswerText {
    static func hasNoContent(_ status: Int) -> Bool { status == 204 || status == 304 }
}
