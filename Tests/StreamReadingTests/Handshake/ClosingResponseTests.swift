import Testing

@testable import StreamReading

/// The response to a request in absolute form, after which the connection ends.
@Suite struct ClosingResponseTests {
    /// What the client gets of `response`, which comes in pieces of `readSize` bytes.
    private func passed(_ response: String, readSize: Int) -> (text: String, isOver: Bool) {
        var closing = ClosingResponse()
        var text: [UInt8] = []
        var rest = Array(response.utf8)[...]
        while !rest.isEmpty {
            let next = Array(rest.prefix(readSize))
            rest = rest.dropFirst(next.count)
            text += closing.isOver ? next : closing.read(next.span)
        }
        return (String(decoding: text + closing.takeHeld(), as: UTF8.self), closing.isOver)
    }

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\nbody"),
            (
                "HTTP/1.1 200 OK\r\nconnection: Keep-Alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nA: b\r\n\r\n",
                "HTTP/1.1 200 OK\r\nA: b\r\nConnection: close\r\n\r\n"
            ),
            (
                "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
                "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            ),
            ("HTTP/1.1 204 No Content\n\n", "HTTP/1.1 204 No Content\nConnection: close\r\n\r\n"),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\nx",
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx"
            ),
        ],
        [1, 3, .max]
    )
    func `says that the connection ends`(texts: (response: String, passed: String), readSize: Int) {
        #expect(passed(texts.response, readSize: readSize) == (texts.passed, true))
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nX:  a \r\nConnection: X, Close\r\nKeep-Alive: 5\r\n\r\nbody",
            "HTTP/1.0 200 OK\r\n\r\nbody",
            "SSH-2.0-x\r\n\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\nbody",
        ],
        [1, 3, .max]
    )
    func `passes as it is where it says so already, or can't be read`(response: String, readSize: Int) {
        #expect(passed(response, readSize: readSize) == (response, true))
    }

    // With work beyond a constant for each byte this takes minutes.
    @Test(.timeLimit(.minutes(1))) func `may follow a million interim ones in one read`() {
        let interim = String(repeating: "HTTP/1.1 103\r\n\r\n", count: 1 << 20)
        #expect(passed(interim, readSize: .max) == (interim, false))
    }

    @Test func `is held until its head is complete, up to 64 KiB`() {
        var closing = ClosingResponse()
        let start = Array("HTTP/1.1 200 OK\r\nX: ".utf8)
        #expect(closing.read(start.span) == [])
        let filling = [UInt8](repeating: 0x78, count: ClosingResponse.headLimit - start.count)
        #expect(closing.read(filling.span) == [] && !closing.isOver)
        #expect(closing.read([0x78].span).count == ClosingResponse.headLimit + 1 && closing.isOver)
        #expect(passed("HTTP/1.1 200 OK\r\nX", readSize: 4) == ("HTTP/1.1 200 OK\r\nX", false))
    }
}
