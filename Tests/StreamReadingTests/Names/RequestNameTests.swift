import StreamReading
import Testing

/// The name in a client's first request of HTTP/1, and in other first bytes.
@Suite struct RequestNameTests {
    @Test(
        arguments: [
            ("GET / HTTP/1.1\r\nHost: a.example\r\n", "a.example"),
            ("GET / HTTP/1.1\r\nAccept: */*\r\nhOST:A.example.:8080 \r\n", "A.example."),
            ("POST /x HTTP/1.0\nHost:\t192.0.2.7\n", "192.0.2.7"), ("\r\nGET / HTTP/1.1\r\nHost: [::1]:80\r\n", "::1"),
            ("OPTIONS * HTTP/1.1\r\nX: y\r\n folded\r\nHost: a\r\n", "a"),
            // The target counts, whatever the field says.
            ("GET http://b.example/x HTTP/1.1\r\n", "b.example"), ("GET ws://b.example:81 HTTP/1.1\r\n", "b.example"),
            ("GET http://b.example?x HTTP/1.1\r\n", "b.example"), ("CONNECT c.example:443 HTTP/1.1\r\n", "c.example"),
        ],
        [1, 2, 7, .max]
    )
    func `the host of a request is known when its line has come`(request: (text: String, name: String), readSize: Int) {
        #expect(name(in: request.text, readSize: readSize) == .name(request.name))
        #expect(name(in: String(request.text.dropLast()), readSize: readSize) == .incomplete)
    }

    @Test(arguments: [
        "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\nHost: a\r\n", "GET / HTTP/1.1\r\nHost:\r\n",
        "GET / HTTP/1.1\r\nHost: b\u{FC}cher.example\r\n", "GET / HTTP/1.1\r\nHost: a b\r\n",
        "GET / HTTP/1.1\r\nHost: a:b\r\n", "GET / HTTP/1.1\r\nnonsense\r\n", "GET http://user@a/ HTTP/1.1\r\n",
        "GET http:///x HTTP/1.1\r\n", "GET /\r\n", "PRI * HTTP/2.0\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "EHLO me\r\n",
        "*1\r\n$4\r\nPING\r\n", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n", "get key\r\n", "\u{0}\u{0}\u{0}\u{8}",
    ])
    func `bytes without a host have no name`(text: String) {
        #expect(name(in: text) == .none)
        #expect(name(in: text, readSize: 1) == .none)
    }

    @Test(arguments: ["", "G", "GET", "GET / HT", "\r\n", "GET / HTTP/1.1\r\nX: "])
    func `a beginning isn't decided yet`(text: String) { #expect(name(in: text) == .incomplete) }

    @Test func `16 KiB are read, and no more`() {
        let line = "X: \(String(repeating: "x", count: 1_000))\r\n"
        let text = "GET / HTTP/1.1\r\n" + String(repeating: line, count: 17) + "Host: a\r\n"
        let result = name(in: Array(text.utf8), readSize: 900)
        #expect(result.outcome == .none)
        #expect(result.read == NameReader.sizeLimit)
    }
}
