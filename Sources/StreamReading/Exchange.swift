import FaultPlan
import NIOHTTP1

/// The requests of a connection whose responses are still to come.
final class Exchange {
    private var waiting: [Message] = []
    private var number: Int64 = 0

    /// Whether a final response is still to begin.
    var awaitsResponse: Bool { !waiting.isEmpty }

    /// Whether one is to a request before the one of this number.
    func awaitsResponse(before request: Int64) -> Bool { waiting.first.map { $0.request < request } ?? false }

    /// The method of a request without a response, by its number.
    func method(of request: Int64) -> String? { waiting.first { $0.request == request }?.method }

    /// Reads the head of a request.
    func request(_ bytes: Span<UInt8>) -> (message: Message, framing: Framing)? {
        guard waiting.count < StreamReader.requestLimit, let head = HeadParser.request(bytes),
            head.version.major == 1, let framing = Framing(request: head)
        else { return nil }
        number += 1
        let message = Message(
            request: number,
            method: head.method.rawValue,
            target: head.uri,
            fields: head.headers.map { Message.Field(name: $0.name, value: $0.value) },
            resourceStart: head.headers.uploadStart
        )
        waiting.append(message)
        return (message, framing)
    }

    /// Reads the head of a response to the oldest request.
    func response(_ bytes: Span<UInt8>) -> (message: Message, framing: Framing)? {
        guard let request = waiting.first else { return nil }
        let method = HTTPMethod(rawValue: request.method)
        guard let head = HeadParser.response(bytes, to: method), head.version.major == 1,
            let framing = Framing(response: head, to: method)
        else { return nil }
        let code = head.status.code
        if code >= 200 || code == 101 { waiting.removeFirst() }
        var message = request
        message.status = Int(code)
        message.resourceStart = head.headers.downloadStart(code: code)
        return (message, framing)
    }

    /// No response comes any more.
    func abandon() { waiting.removeAll() }
}

/// What the bytes of an unfinished head tell already.
enum HeadShape {
    /// Whether it may become the head of a request: a token, and “HTTP/1.” at the end of the first line.
    static func mayBeRequest(_ bytes: Span<UInt8>) -> Bool {
        var index = 0
        while index < bytes.count, bytes[index] != 0x20 {
            guard index < 32, isUppercaseOrToken(bytes[index]) else { return false }
            index += 1
        }
        guard index > 0 else { return false }
        guard let lineEnd = lineEnd(bytes) else { return true }
        // “HTTP/1.x” and perhaps a carriage return in front of the line end.
        var end = lineEnd
        if end > 0, bytes[end - 1] == 0x0D { end -= 1 }
        return end >= 8 && has(version, bytes, at: end - 8)
    }

    /// Whether it may become the head of a response: “HTTP/1.” at its start.
    static func mayBeResponse(_ bytes: Span<UInt8>) -> Bool { has(version, bytes, at: 0) }

    private static let version = Array("HTTP/1.".utf8)

    private static func has(_ text: [UInt8], _ bytes: Span<UInt8>, at start: Int) -> Bool {
        for index in 0..<min(text.count, bytes.count - start) where bytes[start + index] != text[index] {
            return false
        }
        return true
    }

    private static func lineEnd(_ bytes: Span<UInt8>) -> Int? {
        for index in 0..<bytes.count where bytes[index] == 0x0A { return index }
        return nil
    }

    /// Methods are tokens; those in use are of capital letters and “-”.
    private static func isUppercaseOrToken(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x2D, 0x5F: true
        default: false
        }
    }
}
