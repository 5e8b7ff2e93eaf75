import FaultPlan
import StreamReading
import Testing
import Units

@testable import FaultProfile

@Suite("A condition on messages")
struct ConditionTests {
    /// Whether a cut with `condition` acts on a request with the answer.
    private func events(
        _ condition: HTTPCondition,
        _ request: String = Sent.get("/files/a.bin?x=1", "Range: bytes=5-", "X-Name: one", "X-Name: two"),
        _ response: String = Sent.ok("hello")
    ) -> Bool {
        var conversation = Conversation(.cut(.at(ByteCount(1)), of: .body, when: condition))
        conversation.request(request)
        conversation.respond(response)
        return conversation.toClient.end != nil
    }

    @Test
    func `holds when everything that it names does`() {
        #expect(events(HTTPCondition()))
        #expect(events(HTTPCondition(method: "GET")))
        #expect(!events(HTTPCondition(method: "get")))
        #expect(!events(HTTPCondition(method: "POST")))
        #expect(events(HTTPCondition(path: TextPattern("/files/*"))))
        #expect(events(HTTPCondition(path: TextPattern("/files/a.bin"))))
        #expect(events(HTTPCondition(path: TextPattern("/*.bin?x=*"))))
        #expect(!events(HTTPCondition(path: TextPattern("/files/*.txt"))))
        #expect(!events(HTTPCondition(path: TextPattern("/files/a.bin?x=2"))))
        #expect(events(HTTPCondition(fields: [.init(name: "range", value: TextPattern("bytes=*"))])))
        #expect(events(HTTPCondition(fields: [.init(name: "x-name", value: TextPattern("two"))])))
        #expect(!events(HTTPCondition(fields: [.init(name: "Cookie", value: TextPattern("*"))])))
        #expect(events(HTTPCondition(status: StatusSelection(200...299))))
        #expect(!events(HTTPCondition(status: StatusSelection(404...404))))
        #expect(!events(HTTPCondition(method: "GET", status: StatusSelection(404...404))))
        #expect(events(HTTPCondition(requests: .range(1...1))))
        #expect(!events(HTTPCondition(requests: .every(2))))
    }

    @Test
    func `finds the path of a target in absolute form`() {
        let condition = HTTPCondition(path: TextPattern("/files/*"))
        #expect(events(condition, "GET http://example.org/files/a HTTP/1.1\r\nHost: example.org\r\n\r\n"))
        #expect(!events(condition, "GET http://example.org HTTP/1.1\r\nHost: example.org\r\n\r\n"))
    }

    @Test
    func `with a chance is drawn for each request, as the seed has it`() throws {
        func drawn(_ seed: UInt64) throws -> [Bool] {
            let condition = HTTPCondition(chance: try Probability(parsing: "30 %"))
            var conversation = Conversation(
                Fault(
                    name: "corrupt",
                    stream: .downstream,
                    condition: Condition(http: condition),
                    kind: .corrupt(Corrupt(position: .at(.zero), base: .body))
                ),
                seed: seed
            )
            var result: [Bool] = []
            for _ in 0..<200 {
                conversation.request(Sent.get)
                let before = conversation.toClient.events.count
                conversation.respond(Sent.ok("hello"))
                result.append(conversation.toClient.events.count > before)
            }
            return result
        }
        let first = try drawn(1)
        let isRepeated = try first == drawn(1)
        let isOther = try first != drawn(2)
        #expect(isRepeated && isOther)
        #expect((40...80).contains(first.count { $0 }))
    }

    @Test(arguments: PositionTests.readSizes)
    func `narrows a fault of the connection's bytes to the messages that it names`(readSize: Int) {
        // Every byte of /b is acted, and no other.
        let fault = Fault(
            name: "corrupt",
            stream: .downstream,
            condition: Condition(http: HTTPCondition(path: TextPattern("/b"))),
            kind: .corrupt(Corrupt(position: .rate(.always)))
        )
        var conversation = Conversation(fault, readSize: readSize)
        for path in ["/a", "/b", "/c"] {
            conversation.request(Sent.get(path))
            conversation.respond(Sent.ok("answer"))
        }
        let length = Sent.ok("answer").utf8.count
        let output = conversation.toClient.output
        let sent = Array(Sent.ok("answer").utf8)
        #expect(Array(output.prefix(length)) == sent)
        #expect(Array(output.suffix(length)) == sent)
        let hit = output.dropFirst(length).prefix(length)
        #expect(zip(hit, sent).allSatisfy { ($0 ^ $1).nonzeroBitCount == 1 })
    }

    @Test
    func `matches patterns with stars in any place`() {
        let matching = [
            ("*", ""), ("*", "abc"), ("a*c", "abc"), ("a*c", "ac"), ("*b*", "abc"), ("a**c", "abbc"),
            ("a*b*c", "a1b2b3c"),
        ]
        for (pattern, text) in matching { #expect(TextPattern(pattern).matches(text), "\(pattern) \(text)") }
        let others = [("", "a"), ("a", ""), ("a*c", "abcd"), ("a*b*c", "acb"), ("*.bin", "a.bin2"), ("A", "a")]
        for (pattern, text) in others { #expect(!TextPattern(pattern).matches(text), "\(pattern) \(text)") }
        let many = String(repeating: "a*", count: 200) + "b"
        #expect(!TextPattern(many).matches(String(repeating: "a", count: 2_000)))
    }
}
