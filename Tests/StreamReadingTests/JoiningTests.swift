import FaultPlan
import StreamReading
import Testing
import Units

@testable import FaultProfile

/// Connections that are read from their middle on.
@Suite struct JoiningTests {
    private static let answer = Fault.http(.answer(HTTPAnswer(status: 503)))
    private static let readSizes = [1, 7, 64, 1 << 16]

    @Test(arguments: readSizes)
    func `messages are read from the next request on`(readSize: Int) {
        var conversation = Conversation(JoiningTests.answer, readSize: readSize, joins: true)
        conversation.request(Sent.get("/one"))
        conversation.respond(Sent.ok("one"))
        #expect(conversation.reader.messages == .unneeded)
        conversation.join()
        #expect(conversation.reader.messages == .awaited)
        conversation.request(Sent.get("/two"))
        #expect(conversation.reader.messages == .read)
        #expect(conversation.toServer.answeredRequest == 1)
        #expect(conversation.toServer.text == Sent.get("/one"))
    }

    @Test(arguments: readSizes)
    func `a response that passes meanwhile is left alone, and the one after the next is met`(readSize: Int) {
        var conversation = Conversation(.cut(.at(ByteCount(2)), of: .body), readSize: readSize, joins: true)
        let (first, second, third) = (Sent.ok(Sent.digits), Sent.ok("second"), Sent.ok("abcd"))
        conversation.request(Sent.get("/one"))
        conversation.respond(String(first.dropLast(4)))
        conversation.join()
        conversation.respond(String(first.suffix(4)))
        #expect(conversation.toClient.text == first)
        conversation.request(Sent.get("/two"))
        conversation.respond(second)
        #expect(conversation.toClient.text == first + second)
        #expect(conversation.reader.messages == .awaited)
        conversation.request(Sent.get("/three"))
        conversation.respond(third)
        #expect(conversation.toClient.text == first + second + third.dropLast(2))
        #expect(conversation.toClient.end == .cut(.reset))
    }

    @Test(arguments: readSizes)
    func `no answer comes into a response that goes on after the join`(readSize: Int) {
        var conversation = Conversation(JoiningTests.answer, readSize: readSize, joins: true)
        let (first, second) = (Sent.ok(Sent.digits), Sent.ok("second"))
        conversation.request(Sent.get("/one"))
        conversation.respond(String(first.dropLast(8)))
        conversation.join()
        conversation.respond(String(first.suffix(8).dropLast(4)))
        conversation.request(Sent.get("/two"))
        conversation.respond(first.suffix(4) + second)
        #expect(conversation.toServer.text == Sent.get("/one") + Sent.get("/two"))
        #expect(conversation.toServer.events.isEmpty)
        #expect(conversation.toClient.text == first + second)
        conversation.request(Sent.get("/three"))
        #expect(conversation.toServer.answeredRequest != nil)
    }

    @Test(arguments: readSizes)
    func `the content after a 100 Continue is no request`(readSize: Int) {
        var conversation = Conversation(JoiningTests.answer, readSize: readSize, joins: true)
        let head = "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n"
        conversation.request(head)
        conversation.join()
        conversation.respond("HTTP/1.1 100 Continue\r\n\r\n")
        conversation.request(Sent.digits)
        #expect(conversation.reader.messages == .awaited)
        conversation.respond(Sent.ok(""))
        #expect(conversation.toServer.text == head + Sent.digits)
        conversation.request(Sent.get)
        #expect(conversation.toServer.answeredRequest != nil)
    }

    @Test func `a request within what the client sends on isn't looked for`() {
        var conversation = Conversation(JoiningTests.answer, joins: true)
        conversation.request("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n")
        conversation.join()
        conversation.request("content")
        conversation.request(Sent.get)
        #expect(conversation.toServer.events.isEmpty)
        #expect(conversation.reader.messages == .awaited)
    }

    @Test func `a stream without requests is given up, which is told once, and passes untouched`() {
        var conversation = Conversation(JoiningTests.answer, joins: true)
        conversation.request("\u{16}\u{3}")
        conversation.respond("\u{16}\u{3}")
        conversation.join()
        let turns = 20
        for _ in 0..<turns {
            conversation.request("\u{17}\u{3}one")
            conversation.respond("\u{17}\u{3}two")
        }
        #expect(conversation.reader.messages == .unreadable)
        #expect(conversation.toServer.text == "\u{16}\u{3}" + String(repeating: "\u{17}\u{3}one", count: turns))
        #expect(conversation.toClient.text == "\u{16}\u{3}" + String(repeating: "\u{17}\u{3}two", count: turns))
        #expect(conversation.toServer.events.count == 1)
        #expect(conversation.toClient.events.isEmpty)
    }

    @Test func `a server that goes on after the request was found is passed on unread`() {
        var conversation = Conversation(.cut(.at(ByteCount(0)), of: .body), joins: true)
        conversation.request(Sent.get("/one") + Sent.get("/two"))
        conversation.respond(String(Sent.ok(Sent.digits).dropLast(4)))
        conversation.join()
        conversation.request(Sent.get("/three"))
        conversation.respond("6789" + Sent.ok("two") + Sent.ok("three"))
        #expect(conversation.reader.messages == .unreadable)
        #expect(conversation.toClient.text == Sent.ok(Sent.digits) + Sent.ok("two") + Sent.ok("three"))
    }

    @Test func `a client that pipelines beside its responses is met at most once, and counts as not read`() {
        var conversation = Conversation(.cut(.at(ByteCount(9)), of: .body), joins: true)
        conversation.request(Sent.get("/one") + Sent.get("/two"))
        conversation.respond(Sent.ok("one"))
        conversation.join()
        conversation.request(Sent.get("/three"))
        conversation.respond(Sent.ok("two"))
        conversation.respond(Sent.ok("three"))
        #expect(conversation.reader.messages == .unreadable)
        #expect(conversation.toClient.text == Sent.ok("one") + Sent.ok("two") + Sent.ok("three"))
    }

    @Test func `a capital token after the server is held for 250 ms at most, and isn't a request then`() {
        var conversation = Conversation(JoiningTests.answer, joins: true)
        conversation.request("HELLO\n")
        conversation.respond("HELLO\n")
        conversation.join()
        conversation.request("PI")
        #expect(conversation.toServer.text == "HELLO\n")
        conversation.wait(until: Moment(nanoseconds: 249_999_999))
        #expect(conversation.toServer.text == "HELLO\n")
        conversation.wait(until: Moment(nanoseconds: 250_000_000))
        #expect(conversation.toServer.text == "HELLO\nPI")
        conversation.request("NG\n")
        #expect(conversation.toServer.text == "HELLO\nPING\n")
        #expect(conversation.reader.messages == .awaited)
        conversation.respond("PONG\n")
        conversation.request(Sent.get)
        #expect(conversation.toServer.answeredRequest != nil)
    }

    @Test func `what was read, left and is wanted again begins with the next request`() {
        var conversation = Conversation(JoiningTests.answer, joins: true)
        conversation.join()
        #expect(conversation.reader.messages == .read, "no byte has passed")
        conversation.leave()
        conversation.request(Sent.get("/one"))
        conversation.respond(Sent.ok(""))
        conversation.join()
        conversation.request(Sent.get("/two"))
        #expect(conversation.toServer.answeredRequest != nil)
    }

    @Test(arguments: readSizes)
    func `what left before any byte and joins again is read from the first byte on`(readSize: Int) {
        var conversation = Conversation(JoiningTests.answer, readSize: readSize)
        conversation.leave()
        #expect(conversation.reader.messages == .unneeded)
        conversation.join()
        #expect(conversation.reader.messages == .read)
        conversation.request(Sent.get)
        #expect(conversation.toServer.answeredRequest == 1)
    }

    @Test(arguments: readSizes)
    func `what left after two requests and joins again counts from 1`(readSize: Int) {
        let first = HTTPCondition(path: TextPattern("/three"), requests: .range(1...1))
        var conversation = Conversation(
            .http(.answer(HTTPAnswer(status: 503)), when: first),
            readSize: readSize
        )
        for path in ["/one", "/two"] {
            conversation.request(Sent.get(path))
            conversation.respond(Sent.ok(""))
        }
        conversation.leave()
        conversation.join()
        conversation.request(Sent.get("/three"))
        #expect(conversation.toServer.answeredRequest == 1)
        #expect(conversation.toServer.text == Sent.get("/one") + Sent.get("/two"))
    }
}
