import EventLoop

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

    /// A question, and an answer whose records are a little more than what lies between the layers of a connection with TLS.
    static func filling(_ dice: inout Dice) -> Conversation {
        let count = MemoryPairEnd.capacity - dice.number(0...100)
        return Conversation(request: bytes(100, &dice), response: bytes(count, &dice))
    }

    /// The status of a part of a file, and where it begins, which may be at the end of all numbers.
    private static func part(_ count: Int, _ dice: inout Dice) -> String {
        let start = dice.pick([100, .max - count, .max / 2])
        return "206 Partial Content\r\nContent-Range: bytes \(start)-\(start + max(0, count - 1))/*"
    }

    /// Requests of HTTP/1.1 and their responses, each after the other.
    static func http(_ dice: inout Dice, most: Int) -> Conversation {
        var conversation = Conversation(request: [], response: [])
        let count = dice.number(1...4)
        for number in 1...count {
            // The last message may say that it has more bytes than will ever come.
            let claims = number == count && dice.once(in: 12)
            let body = dice.once(in: 3) ? bytes(dice.spread(1...most), &dice) : []
            let method = body.isEmpty ? "GET" : "POST"
            let length = body.isEmpty ? "" : "Content-Length: \(claims ? .max : body.count)\r\n"
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
                let status = dice.once(in: 6) ? part(content.count, &dice) : "200 OK"
                let length = claims ? .max : content.count
                conversation.response += Array("HTTP/1.1 \(status)\r\nContent-Length: \(length)\r\n\r\n".utf8)
                conversation.response += content
            }
            conversation.serverGates.append((conversation.request.count, conversation.response.count))
        }
        return conversation
    }
}
