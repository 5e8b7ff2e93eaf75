import FaultPlan
import StreamReading
import TestProtocols
import Testing
import Units

@testable import FaultProfile

@Suite("A protocol that isn't HTTP")
struct ForeignProtocolTests {
    private static let answer = Fault.http(
        .answer(HTTPAnswer(status: 503)),
        when: HTTPCondition(path: TextPattern("/never/matches"))
    )

    private func direction(of message: FirstMessage) -> Direction { message.isServers ? .downstream : .upstream }

    private func output(_ conversation: Conversation, _ message: FirstMessage) -> [UInt8] {
        message.isServers ? conversation.toClient.output : conversation.toServer.output
    }

    @Test(arguments: FirstMessage.all)
    func `has its first message passed at once, wherever it is cut in two`(message: FirstMessage) {
        for split in 0..<message.bytes.count {
            var conversation = Conversation(Self.answer)
            conversation.send(Array(message.bytes[..<split]), direction(of: message))
            conversation.send(Array(message.bytes[split...]), direction(of: message))
            #expect(output(conversation, message) == message.bytes, "cut behind \(split)")
            let events = conversation.toServer.events + conversation.toClient.events
            #expect(events.map(\.effect.word) == ["isn't HTTP"])
            #expect(Direction.allCases.allSatisfy { conversation.reader.deadline($0) == .distantFuture })
        }
    }

    @Test(arguments: FirstMessage.all)
    func `is named where it is TLS or HTTP/2, wherever its first message is cut in two`(message: FirstMessage) {
        let named: [String: UnreadReason] = ["TLS": .tls, "HTTP/2": .http2]
        for split in 0..<message.bytes.count {
            var conversation = Conversation(Self.answer)
            conversation.send(Array(message.bytes[..<split]), direction(of: message))
            conversation.send(Array(message.bytes[split...]), direction(of: message))
            let reasons = (conversation.toServer.events + conversation.toClient.events).compactMap(\.effect.reason)
            if let reason = named[message.name] {
                #expect(reasons == [reason], "cut behind \(split)")
            } else {
                #expect(reasons.count == 1 && reasons[0] != .tls && reasons[0] != .http2, "cut behind \(split)")
            }
        }
    }

    @Test func `is named by the alert with which a server of TLS answers a request`() {
        var conversation = Conversation(Self.answer)
        conversation.request(Sent.get)
        conversation.send([21, 3, 1, 0, 2, 2, 70], .downstream)
        #expect(conversation.toClient.events.compactMap(\.effect.reason) == [.tls])
    }

    @Test(arguments: FirstMessage.all)
    func `passes both ways behind its first message, and is told of once`(message: FirstMessage) {
        var conversation = Conversation(Self.answer, readSize: 1)
        conversation.send(message.bytes, direction(of: message))
        let rest = Array("HTTP/1.1 200 OK\r\n\r\nGET /never/matches HTTP/1.1\r\n\r\n".utf8)
        for direction in Direction.allCases { conversation.send(rest, direction) }
        #expect(conversation.toServer.output == (message.isServers ? [] : message.bytes) + rest)
        #expect(conversation.toClient.output == (message.isServers ? message.bytes : []) + rest)
        #expect((conversation.toServer.events + conversation.toClient.events).compactMap(\.effect.reason).count == 1)
    }

    /// The starts of heads, and how long each is held behind its last byte.
    private static let starts: [(text: String, hold: Duration)] = [
        ("P", .milliseconds(250)), ("PING", .milliseconds(250)), ("STAT", .milliseconds(250)),
        ("GET ", .milliseconds(250)), ("NICK x", .milliseconds(250)), ("GET /a", .seconds(1)),
        ("GET http:", .seconds(1)), ("CONNECT a:1", .seconds(1)), ("GET / HTTP/1.", .seconds(1)),
        ("GET / HTTP/1.1\r", .seconds(1)), ("GET / HTTP/1.1\r\n", .seconds(60)),
        ("GET / HTTP/1.1\r\nHost: ", .seconds(60)),
    ]

    @Test(arguments: starts)
    func `that begins as HTTP does is held for the time that is stated`(start: (text: String, hold: Duration)) {
        var conversation = Conversation(Self.answer)
        conversation.now = .seconds(5)
        conversation.request(start.text)
        let end = Moment.seconds(5) + start.hold
        #expect(conversation.reader.deadline(.upstream) == end)
        conversation.wait(until: end.advanced(byNanoseconds: -1))
        #expect(conversation.toServer.text == "")
        conversation.wait(until: end)
        #expect(conversation.toServer.text == start.text)
        conversation.request("more")
        conversation.respond("220 ready\r\n")
        #expect(conversation.toServer.text == start.text + "more")
        #expect(conversation.toClient.text == "220 ready\r\n")
        #expect(conversation.toServer.events.map(\.effect) == [.isNoHTTP(.lateHead)])
        #expect(conversation.toClient.events.isEmpty)
    }

    @Test
    func `and a client of HTTP that types slowly are told apart`() {
        var conversation = Conversation(.http(.answer(HTTPAnswer(status: 503))))
        // 200 ms behind each byte, and a second and more behind each line.
        for byte in Sent.get.utf8 {
            conversation.send([byte], .upstream)
            let pause: Duration = byte == UInt8(ascii: "\n") ? .seconds(10) : .milliseconds(200)
            conversation.wait(until: conversation.now + pause)
        }
        #expect(conversation.toServer.answeredRequest != nil)
    }

    @Test
    func `isn't suspected behind a message of HTTP, whose connection has the long time for each head`() {
        var conversation = Conversation(Self.answer)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("hello"))
        conversation.request("G")
        #expect(conversation.reader.deadline(.upstream) == .seconds(60))
        conversation.wait(until: .seconds(59))
        conversation.request("ET /never/matches HTTP/1.1\r\n")
        #expect(conversation.reader.deadline(.upstream) == .seconds(60))
        conversation.wait(until: .seconds(60))
        #expect(conversation.toServer.text == Sent.get + "GET /never/matches HTTP/1.1\r\n")
        #expect(conversation.toServer.events.map(\.effect) == [.isNoHTTP(.lateHead)])
    }

    @Test(
        arguments: [("HTT", .seconds(1)), ("HTTP/1.1 20", .seconds(1)), ("HTTP/1.1 200 OK\r\nX: ", .seconds(60))]
            as [(String, Duration)]
    )
    func `may be in a response that stops in its head, which is held as long`(start: (text: String, hold: Duration)) {
        var conversation = Conversation(Self.answer)
        conversation.request(Sent.get)
        conversation.respond(start.text)
        let end = Moment.zero + start.hold
        #expect(conversation.reader.deadline(.downstream) == end)
        conversation.wait(until: end.advanced(byNanoseconds: -1))
        #expect(conversation.toClient.text == "")
        conversation.request("GET /b HTTP/1.1\r\n")
        conversation.wait(until: end)
        #expect(conversation.toClient.text == start.text)
        // What the client had begun isn't held either.
        #expect(conversation.toServer.text == Sent.get + "GET /b HTTP/1.1\r\n")
        #expect(conversation.toClient.events.map(\.effect) == [.isNoHTTP(.lateHead)])
        #expect(conversation.toServer.events.isEmpty)
    }

    @Test
    func `shows in the server's first words, for which a held start of a request doesn't wait`() {
        var conversation = Conversation(Self.answer)
        conversation.request("USER")
        conversation.respond("220 ready\r\n")
        conversation.wait(until: .zero)
        #expect(conversation.toClient.text == "220 ready\r\n")
        #expect(conversation.toServer.text == "USER")
        #expect(conversation.toClient.events.map(\.effect) == [.isNoHTTP(.notHTTP)])
    }
}
