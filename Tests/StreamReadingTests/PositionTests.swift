import FaultPlan
import StreamReading
import Testing
import Units

@testable import FaultProfile

@Suite("A position in an HTTP message")
struct PositionTests {
    static let readSizes = [1, 2, 3, 7, 64, 1 << 16]

    @Test(arguments: readSizes)
    func `in the body is the same whatever the length of the head`(readSize: Int) {
        for padding in ["", "X-Padding: \(String(repeating: "p", count: 500))\r\n"] {
            var conversation = Conversation(.cut(.at(ByteCount(4)), of: .body), readSize: readSize)
            conversation.request(Sent.get)
            conversation.respond("HTTP/1.1 200 OK\r\n\(padding)Content-Length: 10\r\n\r\n0123456789")
            #expect(conversation.toClient.text.hasSuffix("\r\n\r\n0123"))
            #expect(conversation.toClient.end == .cut(.reset))
            #expect(
                conversation.toClient.events == [
                    FaultEvent(
                        fault: 0,
                        offset: 4,
                        place: MessagePlace(base: .body, request: 1),
                        effect: .cuts(.reset)
                    )
                ]
            )
        }
    }

    @Test(arguments: readSizes)
    func `in the body counts the content of chunks, not their framing`(readSize: Int) {
        for offset in 0...12 {
            var conversation = Conversation(.cut(.at(ByteCount(Int64(offset))), of: .body), readSize: readSize)
            conversation.request(Sent.get)
            conversation.respond(Sent.chunked("012", "3", "456789ab"))
            let expected = ["", "3\r\n0", "3\r\n01", "3\r\n012", "1\r\n3", "8\r\n4"]
            let content = conversation.toClient.text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first ?? ""
            if offset < expected.count { #expect(content.hasSuffix(expected[offset])) }
            #expect(conversation.toClient.end == .cut(.reset))
        }
    }

    @Test(arguments: readSizes)
    func `beyond the end of a body is found in none`(readSize: Int) {
        var conversation = Conversation(.cut(.at(ByteCount(11)), of: .body), readSize: readSize)
        for _ in 1...3 {
            conversation.request(Sent.get)
            conversation.respond(Sent.ok(Sent.digits))
        }
        #expect(conversation.toClient.end == nil)
        #expect(conversation.toClient.text == String(repeating: Sent.ok(Sent.digits), count: 3))
    }

    @Test(arguments: readSizes)
    func `is found in a later message of a connection that is kept`(readSize: Int) {
        var conversation = Conversation(.cut(.at(ByteCount(8)), of: .body), readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("short"))
        conversation.request(Sent.get)
        conversation.respond(Sent.ok(Sent.digits))
        #expect(conversation.toClient.text.hasSuffix("01234567"))
        #expect(conversation.toClient.events.first?.place == MessagePlace(base: .body, request: 2))
    }

    @Test(arguments: readSizes)
    func `of the resource begins where the range does`(readSize: Int) {
        var conversation = Conversation(.cut(.at(ByteCount(50)), of: .resource), readSize: readSize)
        conversation.request(Sent.get("/file", "Range: bytes=30-"))
        conversation.respond(Sent.part(Sent.resource(70, from: 30), from: 30, of: 100))
        #expect(conversation.toClient.text.hasSuffix("\r\n\r\n" + Sent.resource(20, from: 30)))
        #expect(conversation.toClient.events.first?.offset == 50)
    }

    @Test
    func `of the resource is passed by whoever asks for the rest from there`() {
        var conversation = Conversation(.cut(.at(ByteCount(50)), of: .resource))
        conversation.request(Sent.get("/file", "Range: bytes=50-"))
        conversation.respond(Sent.part(Sent.resource(50, from: 50), from: 50, of: 100))
        #expect(conversation.toClient.end == nil)
    }

    @Test
    func `of the resource is in no answer that isn't a part of one`() {
        for head in ["HTTP/1.1 404 Not Found", "HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges"] {
            var conversation = Conversation(.cut(.at(ByteCount(5)), of: .resource))
            conversation.request(Sent.get)
            conversation.respond("\(head)\r\nContent-Length: 10\r\n\r\n0123456789")
            #expect(conversation.toClient.end == nil)
        }
    }

    @Test(arguments: ["Content-Range: bytes 40-49/50", "Upload-Offset: 40"])
    func `of the resource counts what is uploaded from where the request says`(field: String) {
        var conversation = Conversation(.cut(.at(ByteCount(45)), of: .resource, .upstream))
        conversation.request("PATCH /file HTTP/1.1\r\nHost: a\r\n\(field)\r\nContent-Length: 10\r\n\r\n0123456789")
        #expect(conversation.toServer.text.hasSuffix("\r\n\r\n01234"))
        #expect(conversation.toServer.events.first?.offset == 45)
    }

    @Test
    func `at every multiple of the resource is the next one behind the start of the range`() {
        for (start, next) in [(0, 16), (15, 16), (16, 32), (17, 32)] {
            var conversation = Conversation(.cut(.every(ByteCount(16)), of: .resource))
            conversation.request(Sent.get)
            conversation.respond(Sent.part(Sent.resource(100 - start, from: start), from: start, of: 100))
            #expect(conversation.toClient.events.first?.offset == Int64(next))
            #expect(conversation.toClient.text.hasSuffix("\r\n\r\n" + Sent.resource(next - start, from: start)))
        }
    }

    @Test(arguments: readSizes)
    func `of the message counts from the first byte of its head`(readSize: Int) {
        var conversation = Conversation(
            .cut(.at(ByteCount(8)), of: .message, when: HTTPCondition(requests: .range(2...2))),
            readSize: readSize
        )
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("first"))
        conversation.request(Sent.get)
        conversation.respond(Sent.ok("second"))
        #expect(conversation.toClient.text == Sent.ok("first") + "HTTP/1.1")
    }

    @Test(arguments: readSizes)
    func `of a message that is shorter is found in the next that is longer`(readSize: Int) {
        let short = Sent.ok("")
        var conversation = Conversation(.cut(.at(ByteCount(100)), of: .message), readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond(short)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok(Sent.resource(200)))
        #expect(conversation.toClient.output.count == short.utf8.count + 100)
    }

    @Test(arguments: [
        Cut.Position.at(ByteCount(.max)), .every(ByteCount(.max)), .between(ByteCount(.max), ByteCount(.max)),
    ])
    func `of the message beyond all streams is never reached`(position: Cut.Position) {
        var conversation = Conversation(.cut(position, of: .message))
        for _ in 1...3 {
            conversation.request(Sent.get)
            conversation.respond(Sent.ok("here"))
        }
        #expect(conversation.toClient.text == String(repeating: Sent.ok("here"), count: 3))
    }

    @Test
    func `drawn for each message lies in its range and not always at one place`() {
        var offsets: Set<Int64> = []
        for seed in 1...20 as ClosedRange<UInt64> {
            var conversation = Conversation(.cut(.between(ByteCount(3), ByteCount(7)), of: .body), seed: seed)
            conversation.request(Sent.get)
            conversation.respond(Sent.ok(Sent.digits))
            if let offset = conversation.toClient.events.first?.offset { offsets.insert(offset) }
        }
        #expect(offsets.isSubset(of: [3, 4, 5, 6, 7]))
        #expect(offsets.count > 2)
    }

    private func truncate(_ name: String, at offset: Int64, _ bytes: Int64) -> Fault {
        let kind = Truncate(at: ByteCount(offset), base: .body, bytes: ByteCount(bytes))
        return Fault(name: name, stream: .downstream, kind: .truncate(kind))
    }

    @Test(arguments: readSizes, [false, true])
    func `of a byte that another fault takes out is nobody's`(readSize: Int, isReversed: Bool) {
        let corrupt = Fault(
            name: "corrupt",
            stream: .downstream,
            kind: .corrupt(Corrupt(position: .at(ByteCount(4)), base: .body))
        )
        let (first, second) = isReversed ? (corrupt, truncate("a", at: 2, 3)) : (truncate("a", at: 2, 3), corrupt)
        var conversation = Conversation(first, second, readSize: readSize)
        for _ in 1...2 {
            conversation.request(Sent.get)
            conversation.respond(Sent.ok(Sent.digits))
        }
        #expect(conversation.toClient.text.split(separator: "\r\n\r\n0156789").count == 2)
        #expect(conversation.toClient.events.map(\.effect) == [.truncates, .truncates])
    }

    @Test(arguments: readSizes)
    func `of bytes that two faults take out is each byte's own`(readSize: Int) {
        for (first, second, left) in [
            (truncate("a", at: 2, 3), truncate("b", at: 4, 3), "01789"),
            (truncate("a", at: 4, 3), truncate("b", at: 2, 3), "01789"),
            (truncate("a", at: 2, 5), truncate("b", at: 3, 2), "01789"),
            (truncate("a", at: 2, 3), truncate("b", at: 2, 4), "016789"),
        ] {
            var conversation = Conversation(first, second, readSize: readSize)
            for _ in 1...2 {
                conversation.request(Sent.get)
                conversation.respond(Sent.ok(Sent.digits))
                #expect(conversation.toClient.text.hasSuffix("\r\n\r\n\(left)"))
            }
        }
    }

    @Test(arguments: readSizes)
    func `of a byte to be flipped or taken out is found in every message`(readSize: Int) {
        let corrupt = Fault(
            name: "corrupt",
            stream: .downstream,
            kind: .corrupt(Corrupt(position: .at(ByteCount(2)), base: .body))
        )
        let truncate = Fault(
            name: "truncate",
            stream: .downstream,
            kind: .truncate(Truncate(at: ByteCount(5), base: .body, bytes: ByteCount(3)))
        )
        var conversation = Conversation(corrupt, truncate, readSize: readSize)
        for _ in 1...2 {
            conversation.request(Sent.get)
            conversation.respond(Sent.ok(Sent.digits))
        }
        let bodies = conversation.toClient.text.split(separator: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        #expect(bodies.count == 2)
        for body in bodies {
            #expect(body.utf8.count == 7)
            #expect(body.hasSuffix("3489"))
            #expect(body.prefix(2) == "01")
            #expect(body.dropFirst(2).first != "2")
        }
        #expect(conversation.toClient.events.map(\.effect) == [.corrupts, .truncates, .corrupts, .truncates])
        #expect(conversation.toClient.events.map(\.offset) == [2, 5, 2, 5])
    }

    @Test(arguments: readSizes)
    func `comes where it was in the source although bytes before it vanish`(readSize: Int) {
        let truncate = Fault(
            name: "truncate",
            stream: .downstream,
            kind: .truncate(Truncate(at: ByteCount(2), base: .body, bytes: ByteCount(3)))
        )
        var conversation = Conversation(truncate, .cut(.at(ByteCount(8)), of: .body), readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond(Sent.ok(Sent.digits))
        #expect(conversation.toClient.text.hasSuffix("\r\n\r\n01567"))
    }

    @Test(arguments: readSizes)
    func `of a pattern is behind its last byte, wherever reads end`(readSize: Int) {
        let cut = Cut(position: .pattern(BytePattern(Array("aab".utf8))), how: .reset)
        let fault = Fault(name: "cut", stream: .downstream, kind: .cut(cut))
        var conversation = Conversation(fault, readSize: readSize, reads: false)
        conversation.respond("abaaaaabc")
        #expect(conversation.toClient.text == "abaaaaab")
        #expect(conversation.toClient.events == [FaultEvent(fault: 0, offset: 8, effect: .cuts(.reset))])
    }

    @Test(arguments: readSizes)
    func `of a pattern is that of the first of many`(readSize: Int) {
        let cut = Cut(position: .pattern(BytePattern([0x61])), how: .reset)
        let fault = Fault(name: "cut", stream: .downstream, kind: .cut(cut))
        var conversation = Conversation(fault, readSize: readSize, reads: false)
        conversation.respond("xxxa" + String(repeating: "xa", count: 1_000))
        #expect(conversation.toClient.text == "xxxa")
        #expect(conversation.toClient.events.map(\.offset) == [4])
    }

    @Test(arguments: readSizes)
    func `of a pattern that passes while the fault is off does not count`(readSize: Int) {
        let cut = Cut(position: .pattern(BytePattern(Array("ab".utf8))), how: .reset)
        let fault = Fault(
            name: "cut",
            stream: .downstream,
            condition: Condition(ageFrom: .seconds(1)),
            kind: .cut(cut)
        )
        var conversation = Conversation(fault, readSize: readSize, reads: false)
        conversation.respond("xab")
        conversation.now = Moment(nanoseconds: 2_000_000_000)
        conversation.respond("xxabxx")
        #expect(conversation.toClient.text == "xabxxab")
        #expect(conversation.toClient.events.map(\.offset) == [7])
    }
}
