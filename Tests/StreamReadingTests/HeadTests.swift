import FaultPlan
import StreamReading
import Testing
import Units

@testable import FaultProfile

@Suite("A head")
struct HeadTests {
    private static let fault = Fault.cut(.at(ByteCount(4)), of: .body, .both)

    /// Heads of responses that tell of ten bytes, as nginx and curl read them.
    private static let responses = [
        "HTTP/1.1 200 OK\nContent-Length: 10\n\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\n\r\n",
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\tc\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 10, 10\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length:010 \r\n\r\n",
        "HTTP/1.1 200\r\nContent-Length: 10\r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 Schön\r\nContent-Length: 10\r\n\r\n", "HTTP/1.0 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.2 200 OK\r\nContent-Length: 10\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200\n\n",
        "HTTP/1.1 200 OK\r\nX : a\r\nContent-Length: 10\r\n\r\n", "\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX@(: ü\u{1}\r\nContent-Length: 10\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
    ]

    @Test(arguments: responses, PositionTests.readSizes)
    func `of a response is read as nginx and curl read it`(head: String, readSize: Int) {
        var conversation = Conversation(Self.fault, readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond(head + Sent.digits)
        #expect(conversation.toClient.text == head + "0123")
        #expect(conversation.toClient.events.map(\.effect) == [.cuts(.reset)])
    }

    @Test(
        arguments: [
            "Transfer-Encoding: chunked\r\n\r\n8\r\n", "Transfer-Encoding: gzip, Chunked\r\n\r\n8\r\n",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n",
            "Transfer-Encoding:\r\n chunked\r\n\r\n8\r\n", "Transfer-Encoding: identity, chunked\n\n8\n",
            "Transfer-Encoding: chunked\r\n\r\n8 ; name=\"value\"\r\n",
            "Transfer-Encoding: chunked\r\n\r\n00000000000000000008\r\n",
        ],
        PositionTests.readSizes
    )
    func `may tell of chunks in every way that is in use`(rest: String, readSize: Int) {
        var conversation = Conversation(Self.fault, readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond("HTTP/1.1 200 OK\r\n" + rest + "01234567\r\n0\r\n\r\n")
        #expect(conversation.toClient.text == "HTTP/1.1 200 OK\r\n" + rest + "0123")
    }

    /// Heads of requests that tell of ten bytes, or of none.
    private static let requests = [
        "POST /a HTTP/1.1\nContent-Length: 10\n\n", "POST  /a  HTTP/1.1  \r\nContent-Length: 10\r\n\r\n",
        "\r\nPOST http://example.org/a HTTP/1.0\r\nContent-Length: 10\r\n\r\n",
        "POST /a HTTP/1.9\r\nX: a\r\n b\r\nContent-Length: 10\r\nContent-Length: 10, 10\r\n\r\n",
        "PURGE /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n", "M-SEARCH /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
        "VERSION-CONTROL /a HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
        "POST /\(String(repeating: "a", count: 60_000)) HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nContent-Length: 10\r\n\r\n", "CONNECT [::1]:443 HTTP/1.1\r\nContent-Length: 10\r\n\r\n",
    ]

    @Test(arguments: requests, [3, 64, 1 << 16])
    func `of a request is read as nginx reads it`(head: String, readSize: Int) {
        var conversation = Conversation(Self.fault, readSize: readSize)
        conversation.request(head + Sent.digits)
        #expect(conversation.toServer.text == head + "0123")
        #expect(conversation.toServer.events.map(\.effect) == [.cuts(.reset)])
    }

    @Test(arguments: ["\r\n", "\n"], ["\r\n", "\n"])
    func `ends with its first empty line, wherever that stands`(lineEnd: String, emptyLine: String) {
        for length in 0..<5 {
            let head =
                "POST /\(String(repeating: "a", count: length)) HTTP/1.1\r\nContent-Length: 10\(lineEnd)\(emptyLine)"
            for readSize in [1, 2, 3, head.utf8.count - 1, 1 << 16] {
                var conversation = Conversation(Self.fault, readSize: readSize)
                conversation.request(head + "\n\r\n\n567890")
                #expect(conversation.toServer.text == head + "\n\r\n\n", "\(length) \(readSize)")
            }
        }
    }

    @Test
    func `has only those of its fields in a message that faults ask for`() {
        let condition = HTTPCondition(fields: [HTTPCondition.FieldPattern(name: "X-B", value: TextPattern("*"))])
        var admitter = Admitter(
            Plan(
                profile: Profile(name: "test", faults: [.cut(.at(ByteCount(1)), of: .body, when: condition)]),
                seed: 1,
                proxy: "proxy",
                start: .zero
            )
        )
        let reading = admitter.accept(at: .zero).reading
        #expect(reading.fields == ["X-B"])
        #expect(!reading.targets)
    }

    @Test
    func `with a field of several lines has its value in one`() {
        let condition = HTTPCondition(fields: [HTTPCondition.FieldPattern(name: "x", value: TextPattern("a b c"))])
        var conversation = Conversation(.http(.answer(HTTPAnswer(status: 503)), when: condition))
        conversation.request("GET / HTTP/1.1\r\nX: a\r\n b \r\n\t c\r\n\r\n")
        #expect(conversation.toServer.answeredRequest != nil)
    }

    /// What is refused on purpose, and why, in a request and in a response.
    private static let refused: [(fields: String, inRequest: UnreadReason?, inResponse: UnreadReason?)] = [
        ("Content-Length: 5\r\nContent-Length: 6\r\n", .invalidLength, .invalidLength),
        ("Content-Length: 5, 6\r\n", .invalidLength, .invalidLength),
        ("Content-Length: 5,\r\n", .invalidLength, .invalidLength),
        ("Content-Length: +5\r\n", .invalidLength, .invalidLength),
        ("Content-Length: -5\r\n", .invalidLength, .invalidLength),
        ("Content-Length:\r\n", .invalidLength, .invalidLength),
        ("Content-Length: 9223372036854775808\r\n", .invalidLength, .invalidLength),
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", .lengthAndCoding, .lengthAndCoding),
        ("Transfer-Encoding: identity\r\nContent-Length: 5\r\n", .lengthAndCoding, .lengthAndCoding),
        ("Transfer-Encoding: chunked, chunked\r\n", .unknownCoding, .unknownCoding),
        ("Transfer-Encoding: gzip\r\n", .unknownCoding, nil), ("Transfer-Encoding: identity\r\n", .unknownCoding, nil),
        ("Transfer-Encoding: chunked, gzip\r\n", .unknownCoding, nil),
        ("Transfer-Encoding: xchunked\r\n", .unknownCoding, nil),
        ("X : a\r\n", .malformedField, nil), ("Content-Length : 5\r\n", .malformedField, .malformedField),
        ("Transfer-Encoding\t: chunked\r\n", .malformedField, .malformedField),
        (" X: folded\r\n", .malformedField, .malformedField), (": empty\r\n", .malformedField, .malformedField),
        ("no colon\r\n", .malformedField, .malformedField), ("bad name: x\r\n", .malformedField, .malformedField),
        ("X: a\rb\r\n", .malformedField, .malformedField), ("X: a\0b\r\n", .malformedField, .malformedField),
        ("X: a\r\r\n", .malformedField, .malformedField), ("Ü: a\r\n", .malformedField, .malformedField),
    ]

    @Test(arguments: refused, [1, 1 << 16])
    func `that two readers may understand in two ways isn't read, and the reason is told`(
        sample: (fields: String, inRequest: UnreadReason?, inResponse: UnreadReason?),
        readSize: Int
    ) {
        let request = "POST /a HTTP/1.1\r\n" + sample.fields + "\r\n"
        var conversation = Conversation(Self.fault, readSize: readSize)
        conversation.request(request + Sent.digits)
        #expect(conversation.toServer.text == request + Sent.digits)
        #expect(conversation.toServer.events.first?.effect.reason == sample.inRequest)

        let response = "HTTP/1.1 200 OK\r\n" + sample.fields + "\r\n"
        conversation = Conversation(Self.fault, readSize: readSize)
        conversation.request(Sent.get)
        conversation.respond(response + Sent.digits)
        if sample.inResponse != nil { #expect(conversation.toClient.text == response + Sent.digits) }
        #expect(conversation.toClient.events.first?.effect.reason == sample.inResponse)
    }

    @Test(arguments: ["HTTP/1.1 204 No Content", "HTTP/1.1 304 Not Modified", "HTTP/1.1 103 Early Hints"])
    func `of a response without content may have any length`(line: String) {
        var conversation = Conversation(Self.fault)
        conversation.request(Sent.get)
        conversation.respond(line + "\r\nContent-Length: 5, 6\r\nTransfer-Encoding: chunked\r\n\r\n")
        conversation.request(Sent.get)
        conversation.respond(Sent.ok(Sent.digits))
        #expect(conversation.toClient.text.hasSuffix("\r\n\r\n0123"))
    }

    @Test(
        arguments: [
            "HTTP/2 200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK", "HTTP/1.1  200 OK", "ICY 200 OK", "http/1.1 200 OK",
            "HTTP/1.1 200OK", "HTTP/1.x 200 OK",
        ]
    )
    func `of a response begins with its version and its status`(line: String) {
        var conversation = Conversation(Self.fault)
        conversation.request(Sent.get)
        conversation.respond(line + "\r\n\r\n" + Sent.digits)
        #expect(conversation.toClient.text == line + "\r\n\r\n" + Sent.digits)
        #expect(conversation.toClient.events.map(\.effect) == [.isNoHTTP(.notHTTP)])
    }
}
