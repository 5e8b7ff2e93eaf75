/// What the two ends of a connection say to each other.
struct Conversation {
    var request: [UInt8]
    var response: [UInt8]
    /// When each may send, see `Peer`; empty is at any time.
    var clientGates: [(received: Int, upTo: Int)] = []
    var serverGates: [(received: Int, upTo: Int)] = []

    /// Bytes without a period, so that no two places look alike.
    private static let noise: [UInt8] = {
        var dice = Dice(seed: 1)
        return (0..<1 << 21).map { _ in UInt8(dice.number(0...255)) }
    }()

    private static func bytes(_ count: Int, _ dice: inout Dice) -> [UInt8] {
        let start = dice.number(0...noise.count - count - 1)
        return Array(noise[start..<start + count])
    }

    /// Bytes that mean nothing, both ways at once or an answer behind a question.
    static func plain(_ dice: inout Dice, most: Int) -> Conversation {
        var conversation = Conversation(
            request: bytes(dice.once(in: 2) ? dice.spread(0...most) : dice.number(0...most), &dice),
            response: bytes(dice.once(in: 2) ? dice.spread(0...most) : dice.number(0...most), &dice)
        )
        if dice.once(in: 2) {
            conversation.serverGates = [(conversation.request.count, conversation.response.count)]
        }
        return conversation
    }

    /// Requests of HTTP/1.1 and their responses, each after the other.
    static func http(_ dice: inout Dice, most: Int) -> Conversation {
        var conversation = Conversation(request: [], response: [])
        for number in 1...dice.number(1...4) {
            let body = dice.once(in: 3) ? bytes(dice.spread(1...most), &dice) : []
            let method = body.isEmpty ? "GET" : "POST"
            let length = body.isEmpty ? "" : "Content-Length: \(body.count)\r\n"
            let gate = conversation.response.count
            conversation.request += Array("\(method) /\(number) HTTP/1.1\r\nHost: a\r\n\(length)\r\n".utf8) + body
            conversation.clientGates.append((gate, conversation.request.count))
            if dice.once(in: 4) { conversation.response += Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8) }
            let content = bytes(dice.spread(0...most), &dice)
            if dice.once(in: 3) {
                conversation.response += Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
                if !content.isEmpty {
                    conversation.response += Array((String(content.count, radix: 16) + "\r\n").utf8) + content
                    conversation.response += Array("\r\n".utf8)
                }
                conversation.response += Array("0\r\n\r\n".utf8)
            } else {
                conversation.response += Array("HTTP/1.1 200 OK\r\nContent-Length: \(content.count)\r\n\r\n".utf8)
                conversation.response += content
            }
            conversation.serverGates.append((conversation.request.count, conversation.response.count))
        }
        return conversation
    }
}
