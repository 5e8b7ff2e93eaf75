/// Has a response say that the connection ends after it, where the server doesn't.
///
/// Belongs to a request in absolute form, which is the only one of its connection. A client that isn't told would send its
/// next request on a connection that ends. Holds an unfinished head of at most `headLimit` bytes.
struct ClosingResponse {
    /// The longest head: 64 KiB. A longer one is passed on as it is.
    static let headLimit = MessageScanner.headLimit

    private var head = HandshakeHead(.response)
    private(set) var held: [UInt8] = []
    /// Whether the head of the final response has passed, so that everything else passes as it comes.
    private(set) var isOver = false

    /// The bytes for the client, after the server's next `bytes`; none while a head is unfinished.
    mutating func read(_ bytes: Span<UInt8>) -> [UInt8] {
        var all = takeHeld()
        for index in bytes.indices { all.append(bytes[index]) }
        var passed: [UInt8] = []
        var start = 0
        while !isOver {
            let rest = all.span.extracting(start...)
            switch head.read(rest) {
            case .incomplete where rest.count <= ClosingResponse.headLimit:
                held = start == 0 ? all : Array(all[start...])
                return passed
            case .incomplete, .invalid:
                isOver = true
            case .complete(let end):
                let isFinal = rest[head.start + head.line.status.lowerBound] != UInt8(ascii: "1")
                let next = rest.extracting(..<end)
                passed += isFinal ? ClosingResponse.closing(next, head)[...] : all[start..<start + end]
                start += end
                head = HandshakeHead(.response)
                isOver = isFinal
            }
        }
        return passed + all.dropFirst(start)
    }

    /// Takes the unfinished head, after which nothing comes.
    mutating func takeHeld() -> [UInt8] {
        defer { held = [] }
        return held
    }

    /// The head of a final response with `Connection: close`; as it is if it says so already, or if it can't be read.
    private static func closing(_ head: Span<UInt8>, _ scan: HandshakeHead) -> [UInt8] {
        let unchanged = head.indices.map { head[$0] }
        let message = head.extracting(scan.start...)
        guard let fields = HandshakeFields(message, from: scan.line.length) else { return unchanged }
        let options = fields.connectionOptions(in: message)
        // HTTP/1.0 ends the connection unless it says otherwise.
        let isVersion0 = message["HTTP/1.".utf8.count] == UInt8(ascii: "0")
        if options.contains("close") || isVersion0 && !options.contains("keep-alive") { return unchanged }
        var text = message.indices.prefix(scan.line.length).map { message[$0] }
        text += fields.text(in: message) { name in
            ["keep-alive", "proxy-connection"].contains(name) || options.contains(name)
        }
        text += "Connection: close\r\n\r\n".utf8
        return text
    }
}
