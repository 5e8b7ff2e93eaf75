import StreamReading
import Testing

/// The handshake of an HTTP client with a forward proxy.
@Suite struct HTTPHandshakeTests {
    @Test(
        arguments: [
            ("CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "example.com:443"),
            ("CONNECT [2001:DB8:0::1]:8443 HTTP/1.0\n\n", "[2001:DB8:0::1]:8443"),
            ("CONNECT ::1:19443 HTTP/1.1\r\nHost: ::1:19443\r\n\r\n", "[::1]:19443"),
            ("CONNECT 2001:db8::1:443 HTTP/1.1\r\n\r\n", "[2001:db8::1]:443"),
            ("\r\n\r\nCONNECT 192.0.2.7:1 HTTP/1.1\r\nProxy-Connection: keep-alive\r\n\r\n", "192.0.2.7:1"),
        ],
        [1, 2, 7, .max]
    )
    func `CONNECT names the target, and what follows its head is for the server`(
        request: (text: String, target: String),
        readSize: Int
    ) {
        var run = HandshakeRun(request.text, readSize: readSize)
        #expect(run.target == request.target)
        #expect(run.first == "")
        #expect(run.replies == [])
        run.handshake.succeed()
        #expect(run.handshake.takeReply() == Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8))
        let early = HandshakeRun(request.text + "\u{16}\u{3}\u{1}early")
        #expect(early.target == request.target)
        #expect(early.first == "\u{16}\u{3}\u{1}early")
        #expect(early.handshake.boundary == nil)
    }

    @Test(arguments: [1, 3, .max])
    func `a request in absolute form goes on in origin form, for one exchange, without the fields of the proxy`(
        readSize: Int
    ) {
        let run = HandshakeRun(
            "GET http://Example.com/a?b=c HTTP/1.1\r\nHost: other.example\r\nAccept: */*\r\n"
                + "Proxy-Connection: Keep-Alive\r\nProxy-Authorization: Basic eDp5\r\nConnection: keep-alive, X-Hop\r\n"
                + "Keep-Alive: timeout=5\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: websocket\r\nX-Kept:  a b \r\n\r\n",
            readSize: readSize
        )
        #expect(run.target == "Example.com:80")
        #expect(
            run.first
                == "GET /a?b=c HTTP/1.1\r\nHost: Example.com\r\nAccept: */*\r\nX-Kept: a b\r\nConnection: close\r\n\r\n"
        )
        #expect(run.replies == [])
    }

    @Test(arguments: [
        ("GET http://a HTTP/1.1", "GET / HTTP/1.1", "a"), ("GET http://a? HTTP/1.0", "GET /? HTTP/1.0", "a"),
        ("OPTIONS http://a:81 HTTP/1.1", "OPTIONS * HTTP/1.1", "a:81"),
        ("GET HTTP://a:/ HTTP/1.1", "GET / HTTP/1.1", "a"),
        ("GET http://[::1]:8080/x HTTP/1.1", "GET /x HTTP/1.1", "[::1]:8080"),
        ("GET http://a/é?q=ü HTTP/1.1", "GET /é?q=ü HTTP/1.1", "a"),
    ])
    func `a URL without a path or a port has those of the scheme`(line: String, first: String, host: String) {
        let run = HandshakeRun(line + "\r\n\r\n")
        #expect(run.first == "\(first)\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
    }

    @Test func `nothing that follows the request goes to its server`() {
        let post = "POST http://a/ HTTP/1.1\r\nContent-Length: 4\r\n\r\n"
        let next = "GET http://b/ HTTP/1.1\r\n\r\n"
        let run = HandshakeRun(post + "body\r\n" + next)
        #expect(run.first.hasSuffix("Connection: close\r\n\r\nbody"))
        #expect(run.handshake.boundary?.isExceeded == true)
        let partial = HandshakeRun(post + "bo")
        #expect(partial.first.hasSuffix("\r\n\r\nbo"))
        #expect(partial.handshake.boundary?.isExceeded == false)
        let chunked = HandshakeRun(
            "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n" + next
        )
        #expect(chunked.first.hasSuffix("4\r\nbody\r\n0\r\n\r\n"))
        #expect(chunked.handshake.boundary?.isExceeded == true)
        let plain = HandshakeRun("GET http://a/ HTTP/1.1\r\n\r\n\r\n")
        #expect(plain.first.hasSuffix("close\r\n\r\n"))
        #expect(plain.handshake.boundary?.isExceeded == false)
    }

    @Test func `a request that comes before the response is dropped, and one after its head ends the stream`() throws {
        let get = "GET http://a/ HTTP/1.1\r\n\r\n"
        let reader = StreamReader(.init())
        reader.forwardOnly(try #require(HandshakeRun(get + get).handshake.boundary))
        #expect(reader.admit(Array(get.utf8).span) == 0 && !reader.endsRequests)
        _ = reader.announceEnd(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n".utf8).span)
        #expect(reader.endsRequests)
        let broken = StreamReader(.init())
        let post = "POST http://a/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        broken.forwardOnly(try #require(HandshakeRun(post).handshake.boundary))
        #expect(broken.admit(Array("x\r\n".utf8).span) < 3 && broken.endsRequests)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found"), ("HEAD /x HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST / HTTP/1.1\r\n\r\n", "405 Method Not Allowed"), ("OPTIONS * HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
        ("CONNECT example.com:0 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT example.com: HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT example.com:65536 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT exa%41mple.com:1 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT [::1%lo]:1 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT [1]:1 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT ::1 HTTP/1.1\r\n\r\n", "400 Bad Request"), ("CONNECT a:1:2 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("CONNECT :443 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://::1:80/ HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "400 Bad Request"),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nhost: b:1\r\n\r\n", "400 Bad Request"),
        ("POST http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"),
        ("CONNECT \(String(repeating: "a", count: 254)):1 HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET https://a/ HTTP/1.1\r\n\r\n", "400 Bad Request"), ("GET http:///x HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://user@a/ HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://é/ HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://a/\u{7F} HTTP/1.1\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/2.0\r\n\r\n", "400 Bad Request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 Bad Request"), ("\u{16}\u{3}\u{1}\u{2}", "400 Bad Request"),
        ("get / HTTP/1.1\r\n\r\n", "400 Bad Request"), ("nonsense", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nno colon\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nX: a\r\n b\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nX : a\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nX: a\rb\r\n\r\n", "400 Bad Request"),
        ("GET http://a/ HTTP/1.1\r\nX: a\u{0}b\r\n\r\n", "400 Bad Request"),
        ("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "400 Bad Request"),
        ("POST http://a/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "400 Bad Request"),
        ("POST http://a/ HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", "400 Bad Request"),
        (
            "POST http://a/ HTTP/1.1\r\nConnection: content-length\r\nContent-Length: x\r\n\r\n", "400 Bad Request"
        ),
    ])
    func `what isn't for another host, or is malformed, gets an error and the end`(request: String, status: String) {
        for readSize in [1, Int.max] {
            var run = HandshakeRun(request, readSize: readSize)
            #expect(run.outcome == .failed)
            #expect(run.status == "HTTP/1.1 \(status)")
            #expect(run.reply.contains("\r\nConnection: close\r\n"))
            #expect(run.replies.last == 10)
            // Nothing comes after it.
            run.handshake.fail(.timedOut, "late")
            #expect(run.handshake.takeReply() == [])
        }
    }

    @Test func `a response to HEAD has no content`() {
        #expect(HandshakeRun("HEAD / HTTP/1.1\r\n\r\n").reply.hasSuffix("\r\n\r\n"))
        var run = HandshakeRun("HEAD http://a/ HTTP/1.1\r\n\r\n")
        run.handshake.fail(.refused, "sentence")
        let reply = String(decoding: run.handshake.takeReply(), as: UTF8.self)
        #expect(reply.hasPrefix("HTTP/1.1 502 Bad Gateway\r\n") && reply.hasSuffix("\r\n\r\n"))
    }

    @Test func `a head beyond 16 KiB is refused`() {
        let line = "GET http://a/ HTTP/1.1\r\nX: "
        let end = "\r\n\r\n"
        let fitting = ProxyHandshake.sizeLimit - line.utf8.count - end.utf8.count
        #expect(HandshakeRun(line + String(repeating: "x", count: fitting) + end).target == "a:80")
        let longer = HandshakeRun(line + String(repeating: "x", count: fitting + 1) + end)
        #expect(longer.status == "HTTP/1.1 431 Request Header Fields Too Large")
        let empty = HandshakeRun(String(repeating: "\r\n", count: ProxyHandshake.sizeLimit))
        #expect(empty.status == "HTTP/1.1 431 Request Header Fields Too Large")
    }

    @Test(arguments: ["CONNECT a:1 HTTP/1.1\r\n", "GET http://a/ HTTP/1.1\r\n"])
    func `a password is asked for, and any user name goes with it`(request: String) {
        func status(_ field: String) -> String? {
            let run = HandshakeRun("\(request)\(field)\r\n", password: "s3cret:ü")
            return run.target ?? run.status
        }
        let needed = "HTTP/1.1 407 Proxy Authentication Required"
        let target = request.hasPrefix("CONNECT") ? "a:1" : "a:80"
        // "anna:s3cret:ü" and ":s3cret:ü".
        #expect(status("Proxy-Authorization: Basic YW5uYTpzM2NyZXQ6w7w=\r\n") == target)
        #expect(status("proxy-authorization: basic   OnMzY3JldDrDvA==\r\n") == target)
        #expect(status("Proxy-Authorization: Basic OnMzY3JldDrDvA\r\n") == target)
        for wrong in [
            "", "Authorization: Basic YW5uYTpzM2NyZXQ6w7w=\r\n", "Proxy-Authorization: Basic YW5uYTpzM2NyZXQ=\r\n",
            "Proxy-Authorization: Basic\r\n", "Proxy-Authorization: Bearer YW5uYTpzM2NyZXQ6w7w=\r\n",
            "Proxy-Authorization: Basic czNjcmV0\r\n", "Proxy-Authorization: Basic ====\r\n",
            "Proxy-Authorization: Basic YW5uYTpzM2NyZXQ6w7w=\r\nProxy-Authorization: Basic x\r\n",
        ] {
            #expect(status(wrong) == needed)
        }
        let asked = HandshakeRun("\(request)\r\n", password: "x")
        #expect(asked.reply.contains("\r\nProxy-Authenticate: Basic realm=\"squall\", charset=\"UTF-8\"\r\n"))
    }

    @Test(arguments: HandshakeFailure.allCases)
    func `every failure has a status with a content`(failure: HandshakeFailure) {
        var run = HandshakeRun("CONNECT a:1 HTTP/1.1\r\n\r\n")
        run.handshake.fail(failure, "sentence")
        let reply = String(decoding: run.handshake.takeReply(), as: UTF8.self)
        #expect(reply.wholeMatch(of: #/HTTP/1\.1 [45]\d\d [A-Z][A-Za-z ]+\r\n(.+\r\n)+\r\nsquall: sentence\n/#) != nil)
        #expect(reply.contains("Content-Length: 17\r\n"))
    }
}
