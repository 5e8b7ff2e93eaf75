import FaultPlan
import StreamReading
import Testing
import Units

@testable import FaultProfile

@Suite("Messages")
struct MessageTests {
    private static let everything = HTTPFault.answer(HTTPAnswer(status: 503))

    @Test(arguments: PositionTests.readSizes)
    func `pass untouched, whatever their framing`(readSize: Int) {
        let responses = [
            Sent.ok("hello"), Sent.chunked("one", "two", "three"),
            "HTTP/1.1 100 Continue\r\n\r\n" + Sent.ok(""), "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 700\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=1\r\nhello\r\n0\r\nTrailer: yes\r\n\r\n",
        ]
        var conversation = Conversation(.cut(.at(ByteCount(1_000)), of: .body, .both), readSize: readSize)
        for response in responses {
            conversation.request("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
            conversation.respond(response)
            #expect(conversation.reader.hasAnswered(requestsBefore: .max))
        }
        #expect(conversation.toClient.text == responses.joined())
        #expect(conversation.toClient.events.isEmpty)
        #expect(conversation.toServer.events.isEmpty)
    }

    @Test(arguments: PositionTests.readSizes)
    func `whose content begins inside its resource are noted for whoever watches transfers`(readSize: Int) {
        var conversation = Conversation(readSize: readSize, watches: true)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("hello"))
        conversation.request("GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=3-\r\n\r\n")
        conversation.respond(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 3-4/5\r\nContent-Length: 2\r\n\r\nlo"
        )
        conversation.request("PATCH /u HTTP/1.1\r\nHost: a\r\nUpload-Offset: 7\r\nContent-Length: 2\r\n\r\nab")
        conversation.respond("HTTP/1.1 204 No Content\r\nUpload-Offset: 9\r\n\r\n")
        conversation.request("GET /a HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n")
        conversation.respond(
            "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/5\r\nContent-Length: 2\r\n\r\nhe"
        )
        let noted = conversation.reader.takeResumptions()
        #expect(noted.map(\.resourceStart) == [3, 7])
        #expect(noted.map(\.status) == [206, nil])
        #expect(conversation.reader.takeResumptions().isEmpty)
    }

    @Test(arguments: PositionTests.readSizes)
    func `that answer a HEAD have no body, whatever their fields say`(readSize: Int) {
        var conversation = Conversation(.cut(.at(ByteCount(0)), of: .body), readSize: readSize)
        conversation.request("HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n")
        conversation.respond("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        #expect(conversation.toClient.end == nil)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("hello"))
        #expect(conversation.toClient.end == .cut(.reset))
        #expect(conversation.toClient.text.hasSuffix("Content-Length: 5\r\n\r\n"))
    }

    @Test(arguments: PositionTests.readSizes)
    func `are matched with their requests when those come ahead of responses`(readSize: Int) {
        let second = HTTPCondition(path: TextPattern("/b"))
        var conversation = Conversation(.cut(.at(ByteCount(1)), of: .body, when: second), readSize: readSize)
        conversation.request(Sent.get("/a") + Sent.get("/b") + Sent.get("/c"))
        #expect(!conversation.reader.hasAnswered(requestsBefore: .max))
        #expect(conversation.reader.hasAnswered(requestsBefore: 1))
        conversation.respond(Sent.ok("first") + Sent.ok("second"))
        #expect(conversation.toClient.text.hasSuffix("\r\n\r\ns"))
        #expect(conversation.toClient.events.first?.place?.request == 2)
    }

    @Test func `a server of HTTP/2 that speaks first is known by its first frame`() {
        for (text, why) in [("\0\0\u{12}\u{4}\0\0\0\0\0", .http2), ("\0\0\u{12}\u{4}\0\0\0\0", .notHTTP)]
            as [(String, UnreadReason)]
        {
            var conversation = Conversation(.http(Self.everything, when: HTTPCondition(path: TextPattern("/no"))))
            conversation.respond(text)
            let events = conversation.toServer.events + conversation.toClient.events
            #expect(events.map(\.effect) == [.isNoHTTP(why)])
        }
    }

    @Test(
        arguments: [
            ("EHLO example.org\r\n", .notHTTP), ("\u{16}\u{3}\u{1}", .tls), ("PING\r\n", .notHTTP),
            ("SSH-2.0-client\r\n", .notHTTP), ("GET /old\r\n", .notHTTP),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", .http2),
            ("GET / HTTP/1.1\r\nContent-Length: 1, 2\r\n\r\n", .invalidLength),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", .unknownCoding),
            ("GET / HTTP/1.1\r\nbad name: x\r\n\r\n", .malformedField),
        ] as [(String, UnreadReason)],
        PositionTests.readSizes
    )
    func `that are none pass at once, and that is said once`(sample: (text: String, why: UnreadReason), readSize: Int) {
        let text = sample.text
        var conversation = Conversation(
            .http(Self.everything, when: HTTPCondition(path: TextPattern("/no"))),
            readSize: readSize
        )
        conversation.request(text)
        conversation.respond("220 hello\r\n")
        conversation.request(Sent.get("/no"))
        #expect(conversation.toServer.text == text + Sent.get("/no"))
        #expect(conversation.toClient.text == "220 hello\r\n")
        let events = conversation.toServer.events + conversation.toClient.events
        #expect(events.map(\.effect) == [.isNoHTTP(sample.why)])
        #expect(events.first?.offset == 0)
    }

    @Test
    func `of a server that speaks first are none`() {
        var conversation = Conversation(.http(Self.everything))
        conversation.respond("HTTP/1.1 200 OK\r\n\r\n")
        conversation.request(Sent.get)
        #expect(conversation.toServer.text == Sent.get)
        #expect(conversation.toClient.events.map(\.effect) == [.isNoHTTP(.noRequest)])
    }

    @Test
    func `end where something else begins, as after a change of protocols`() {
        var conversation = Conversation(.cut(.at(ByteCount(0)), of: .body))
        conversation.request("GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        let switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"
        conversation.respond(switching + "HTTP/1.1 is spoken no more")
        conversation.request("nor here")
        #expect(conversation.toClient.text == switching + "HTTP/1.1 is spoken no more")
        #expect(conversation.toServer.text.hasSuffix("nor here"))
        #expect(conversation.toClient.events.isEmpty)
    }

    @Test(
        arguments: [
            ("GET / HTTP/1.1\r\nX: ", .longHead), ("GET / HTTP/2\r\nX: ", .notHTTP), ("GET /", .longHead),
        ] as [(String, UnreadReason)],
        [4_096, 1 << 16, .max]
    )
    func `whose heads never end are passed on from the limit on`(
        head: (start: String, why: UnreadReason),
        readSize: Int
    ) {
        var conversation = Conversation(.http(Self.everything), readSize: readSize)
        let text = head.start + String(repeating: "x", count: 70_000) + "\0\r\n\r\n"
        conversation.request(text)
        #expect(conversation.toServer.text == text)
        #expect(conversation.toServer.events.map(\.effect) == [.isNoHTTP(head.why)])
    }

    @Test
    func `that are cut off in their heads are passed on as they are`() {
        var conversation = Conversation(.http(Self.everything))
        conversation.request("GET / HTTP/1.1\r\nHo")
        #expect(conversation.toServer.text == "")
        conversation.finish(.upstream)
        #expect(conversation.toServer.text == "GET / HTTP/1.1\r\nHo")
        #expect(conversation.toServer.end == .finish)
    }

    @Test
    func `are answered although the client has ended its stream behind the request`() {
        var conversation = Conversation(.cut(.at(ByteCount(2)), of: .body))
        conversation.request(Sent.get)
        conversation.finish(.upstream)
        conversation.respond(Sent.ok("hello"))
        #expect(conversation.toClient.text.hasSuffix("\r\n\r\nhe"))
    }

    @Test(arguments: [(1_024, true), (1_025, false)])
    func `beyond the limit of requests without a response are passed on unread`(number: UInt64, isRead: Bool) {
        let request = HTTPCondition(requests: .range(number...number))
        var conversation = Conversation(.cut(.at(ByteCount(0)), of: .body, when: request))
        for _ in 1...1_025 { conversation.request(Sent.get) }
        #expect(conversation.toServer.events.map(\.effect) == [.isNoHTTP(.manyRequests)])
        for _ in 1...1_025 { conversation.respond(Sent.ok("hello")) }
        #expect(conversation.toClient.end == (isRead ? .cut(.reset) : nil))
        let count = isRead ? 1_023 : 1_025
        let responses = String(repeating: Sent.ok("hello"), count: count)
        #expect(conversation.toClient.text.hasPrefix(responses))
    }

    @Test(
        arguments: [
            ("g\r\n", 0), ("ffffffffffffffff\r\n", 15), ("5\r\nhelloX", 8), ("5\r\nhello\r\n3\r\nabc\r\nZZ", 18),
        ]
    )
    func `with broken chunks pass untouched from the first wrong byte on, wherever reads end`(
        framing: String,
        count: Int
    ) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for split in 0..<framing.utf8.count {
            var conversation = Conversation(.cut(.at(ByteCount(100)), of: .body))
            conversation.request(Sent.get)
            conversation.respond(head + framing.prefix(split))
            conversation.respond(framing.dropFirst(split) + "rest")
            #expect(conversation.toClient.text == head + framing + "rest")
            let events = conversation.toClient.events
            #expect(events.map(\.effect) == [.isNoHTTP(.brokenChunks)])
            #expect(events.map(\.offset) == [Int64(head.utf8.count + count)], "cut after \(split)")
        }
    }

    @Test
    func `of random bytes never end the process, and pass as they are`() {
        var key: UInt64 = 88_172_645_463_325_252
        func next() -> UInt64 {
            key ^= key << 13
            key ^= key >> 7
            key ^= key << 17
            return key
        }
        let words = [
            "GET ", "/ ", "HTTP/1.1", "\r\n", "\n", "Content-Length: 5", ":", "chunked", "Transfer-Encoding: ", "0",
            "5\r\n", "\0", "é",
        ]
        for _ in 0..<300 {
            let text = (0..<20).map { _ in words[Int(next() % UInt64(words.count))] }.joined()
            let answer = "HTTP/1.1 200 OK\r\n" + (0..<20).map { _ in words[Int(next() % UInt64(words.count))] }.joined()
            var conversation = Conversation(
                .cut(.at(ByteCount(1 << 40)), of: .body, .both),
                readSize: Int(next() % 9) + 1
            )
            conversation.request(Sent.get + text)
            conversation.respond(answer)
            conversation.finish(.upstream)
            conversation.finish(.downstream)
            #expect(conversation.toServer.text == Sent.get + text)
            #expect(conversation.toClient.text == answer)
        }
    }

    @Test(arguments: PositionTests.readSizes)
    func `end for their faults where the other direction turns out to be no HTTP`(readSize: Int) {
        // Every byte of the request is acted, until the server sends something else.
        let fault = Fault(
            name: "corrupt",
            stream: .upstream,
            condition: Condition(http: HTTPCondition(path: TextPattern("/*"))),
            kind: .corrupt(Corrupt(position: .rate(.always)))
        )
        var conversation = Conversation(fault, readSize: readSize)
        conversation.request("POST /a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n0123")
        let struck = conversation.toServer.output
        #expect(struck.last != nil && struck.last != UInt8(ascii: "3"))
        conversation.respond("\u{0}\u{1}\u{2}\r\n\r\n")
        conversation.request("456789")
        #expect(Array(conversation.toServer.output.dropFirst(struck.count)) == Array("456789".utf8))
    }

    @Test(arguments: PositionTests.readSizes)
    func `are answered to the last one although something that is no HTTP follows upon their requests`(readSize: Int) {
        // The second response is acted to its end, and what the server says to the rest isn't looked at.
        let second = HTTPCondition(requests: .range(2...2))
        let fault = Fault(
            name: "corrupt",
            stream: .downstream,
            condition: Condition(http: second),
            kind: .corrupt(Corrupt(position: .rate(.always)))
        )
        var conversation = Conversation(fault, readSize: readSize)
        conversation.request(Sent.get + Sent.get + "\u{0}\u{1}\u{2}\r\n\r\n")
        #expect(!conversation.reader.hasAnswered(requestsBefore: 2))
        conversation.respond(Sent.ok("first") + "HTTP/1.1 200 O")
        #expect(conversation.reader.hasAnswered(requestsBefore: 2))
        #expect(!conversation.reader.hasAnswered(requestsBefore: 3))
        conversation.respond("K\r\nContent-Length: 6\r\n\r\nsec")
        conversation.respond("ond")
        conversation.finish(.upstream)
        conversation.respond(Sent.ok("third"))
        #expect(conversation.reader.hasAnswered(requestsBefore: 3))
        #expect(conversation.toClient.text.hasPrefix(Sent.ok("first")))
        let struck = conversation.toClient.output.dropFirst(Sent.ok("first").utf8.count)
        #expect(zip(struck, Sent.ok("second").utf8).allSatisfy { $0 != $1 })
        #expect(conversation.toClient.text.hasSuffix(Sent.ok("third")))
        let told = [conversation.toServer, conversation.toClient].flatMap(\.events).map(\.effect)
        #expect(told.compactMap(\.reason).count == 1)
    }

    @Test(arguments: PositionTests.readSizes)
    func `of neither direction are told once`(readSize: Int) {
        var conversation = Conversation(
            .http(Self.everything, when: HTTPCondition(path: TextPattern("/no"))),
            readSize: readSize
        )
        conversation.request(Sent.get + "\u{0}\u{1}\u{2}\r\n\r\n")
        conversation.respond("220 ready\r\n")
        conversation.respond("221 bye\r\n")
        #expect(conversation.toClient.text == "220 ready\r\n221 bye\r\n")
        #expect(conversation.toServer.events.map(\.effect) == [.isNoHTTP(.notHTTP)])
        #expect(conversation.toClient.events.isEmpty)
    }

    @Test
    func `of broken chunks have no position behind the break`() {
        var conversation = Conversation(.cut(.at(ByteCount(500)), of: .message))
        conversation.request(Sent.get)
        conversation.respond("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n012\r\nno size\r\n")
        conversation.respond(String(repeating: "x", count: 1_000))
        #expect(conversation.toClient.end == nil)
    }
}
