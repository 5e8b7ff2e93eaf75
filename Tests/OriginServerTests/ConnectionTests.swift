import Foundation
import OriginServer
import Testing
import Units

@Suite struct ConnectionTests {
    private static let get = "GET /file.bin HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `a connection serves one request after the other`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                for _ in 0..<3 {
                    try await connection.send(Self.get)
                    let response = try await connection.response()
                    #expect(response.body == TestOrigin.content)
                    #expect(response["connection"] == nil)
                }
            }
        }
    }

    @Test func `pipelined requests are answered in order`() async throws {
        try await TestOrigin.with(["1": [1], "2": [2, 2], "3": [3, 3, 3]]) { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                let requests = [1, 3, 2, 3, 1, 2].map { "GET /\($0) HTTP/1.1\r\nHost: a\r\n\r\n" }
                try await connection.send(requests.joined() + "HEAD /3 HTTP/1.1\r\nHost: a\r\n\r\n" + requests[0])
                for number in [1, 3, 2, 3, 1, 2] {
                    #expect(try await connection.response().body == Array(repeating: UInt8(number), count: number))
                }
                let head = try await connection.response(isHead: true)
                #expect(head["content-length"] == "3")
                #expect(try await connection.response().body == [1])
            }
        }
    }

    @Test func `a request that arrives byte by byte is parsed`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                try await connection.sendSplit("\r\n" + Self.get + Self.get)
                #expect(try await connection.response().body == TestOrigin.content)
                let second = try await connection.response()
                #expect(second.body == TestOrigin.content)
            }
        }
    }

    @Test(
        arguments: [
            ("\u{0}\u{1}\u{2}\r\n\r\n", 400), ("nonsense\r\n\r\n", 400), ("GET\r\n\r\n", 400),
            ("GET /file.bin HTTP/1.1\r\nHost: a\r\nbad field\r\n\r\n", 400),
            ("GET /file.bin HTTP/1.1\r\nHost : a\r\n\r\n", 400), ("GET /file.bin HTTP/3.7\r\nHost: a\r\n\r\n", 505),
            ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
            ("GET /file.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
            ("GET /file.bin HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
            ("GET /file.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET /file.bin HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n", 431),
            ("GET /\(String(repeating: "x", count: 40_000)) HTTP/1.1\r\nHost: a\r\n\r\n", 414),
            ("GET / HTTP/1.1\r\nHost: a\r\n\(String(repeating: "x: y\r\n", count: 101))\r\n", 431),
        ]
    )
    func `a malformed request gets one response, and the connection is closed`(_ bytes: String, _ status: Int)
        async throws
    {
        try await TestOrigin.with { origin in
            let response = try await origin.everything(bytes + Self.get)
            #expect(response.hasPrefix("HTTP/1.1 \(status) "), "\(response.prefix(40))")
            #expect(response.contains("\r\nConnection: close\r\n"))
            #expect(response.ranges(of: "\r\nDate: ").count == 1)
            let record = await origin.records.next()
            #expect(record?.status == status)
            #expect(record?.target == "-")
        }
    }

    @Test(arguments: [5_000, 66_000, 200_000, 1_000_000])
    func `bytes after a malformed request don't suppress its response`(count: Int) async throws {
        let rest = String(repeating: "x", count: count)
        let start = "GET / HTTP/1.1\r\nHost: a\r\n"
        var requests = [("\(start)X : y\r\nX: \(rest)", 400)]
        // Beyond the limit of a head.
        if count > 50_000 { requests.append(("\(start)X: \(rest)", 431)) }
        for (request, status) in requests {
            try await TestOrigin.with { origin in
                let response = try await origin.everything(request)
                #expect(response.hasPrefix("HTTP/1.1 \(status) "), "\(response.prefix(40))")
            }
        }
    }

    @Test func `a target that is too long is 414, and a request of HTTP 1.0 in chunks is the last of its connection`()
        async throws
    {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                try await connection.send("GET /\(String(repeating: "x", count: 8_192)) HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(try await connection.response().status == 414)
            }
            let chunked =
                "GET /file.bin HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            let response = try await origin.everything(chunked + Self.get)
            #expect(response.ranges(of: "HTTP/1.1 200 ").count == 1)
            #expect(response.contains("\r\nConnection: close\r\n"))
        }
    }

    @Test(
        arguments: [
            "GET /file.bin HTTP/1.1\r\n\r\n", "GET /file.bin HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            "GET /file.bin HTTP/1.1\r\nHost: a b\r\n\r\n", "GET /file.bin HTTP/1.0\r\nHost: a/b\r\n\r\n",
            "GET http://a/file.bin HTTP/1.1\r\n\r\n",
        ]
    )
    func `a request needs one valid host`(_ request: String) async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                try await connection.send(request)
                let response = try await connection.response()
                #expect(response.status == 400)
            }
        }
    }

    @Test func `HTTP 1.0 needs no host, and keeps the connection only when asked to`() async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.everything("GET /file.bin HTTP/1.0\r\n\r\n")
            #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(response.contains("\r\nConnection: close\r\n"))
            #expect(response.contains("\r\nContent-Length: 1000\r\n"))
            try await RawConnection.with(port: origin.server.address.port) { connection in
                for _ in 0..<2 {
                    try await connection.send("GET /file.bin HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                    #expect(try await connection.response()["connection"] == "keep-alive")
                }
            }
        }
    }

    @Test func `a client that has finished sending still gets its responses`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                try await connection.send(Self.get + Self.get)
                try await connection.closeOutput()
                #expect(try await connection.response().body == TestOrigin.content)
                #expect(try await connection.response().body == TestOrigin.content)
                #expect(await connection.rest() == [])
            }
        }
    }

    @Test(arguments: ["PUT", "POST", "DELETE", "PATCH", "TRACE", "PROPFIND"])
    func `other methods get 405 with the allowed ones`(_ method: String) async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                let content = method == "TRACE" ? "\r\n" : "Content-Length: 5\r\n\r\nhello"
                try await connection.send("\(method) /file.bin HTTP/1.1\r\nHost: a\r\n" + content + Self.get)
                let refusal = try await connection.response()
                #expect(refusal.status == 405)
                #expect(refusal["allow"] == "GET, HEAD, OPTIONS")
                let next = try await connection.response()
                #expect(next.status == 200)
            }
        }
    }

    @Test(arguments: ["*", "/file.bin", "/none"])
    func `OPTIONS says what can be done`(_ target: String) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.everything(
                "OPTIONS \(target) HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            )
            #expect(
                response == """
                    HTTP/1.1 204 No Content\r
                    Date: \(TestOrigin.now)\r
                    Allow: GET, HEAD, OPTIONS\r
                    Accept-Ranges: bytes\r
                    Connection: close\r
                    \r

                    """
            )
        }
    }

    @Test func `a small content is discarded, and the connection stays open`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                let content = String(repeating: "x", count: 65_536)
                let head = "GET /file.bin HTTP/1.1\r\nHost: a\r\n"
                try await connection.send(head + "Content-Length: 65536\r\n\r\n" + content)
                #expect(try await connection.response()["connection"] == nil)
                try await connection.send(head + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + Self.get)
                #expect(try await connection.response().body == TestOrigin.content)
                #expect(try await connection.response().body == TestOrigin.content)
            }
        }
    }

    @Test(
        arguments: [
            "Content-Length: 65537\r\n\r\n",
            "Content-Length: 9999999999999999\r\n\r\n",
            "Transfer-Encoding: chunked\r\n\r\n10001\r\n\(String(repeating: "x", count: 65_537))\r\n",
            "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
            "Upgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        ]
    )
    func `a request that leaves the connection unusable is answered, and the connection closed`(
        _ rest: String
    ) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.everything("GET /file.bin HTTP/1.1\r\nHost: a\r\n" + rest)
            #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(response.contains("\r\nConnection: close\r\n"))
        }
    }

    @Test func `an expectation without a content doesn't matter`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                let expecting = "GET /file.bin HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
                try await connection.send(expecting + Self.get)
                #expect(try await connection.response().status == 200)
                let next = try await connection.response()
                #expect(next.status == 200)
            }
        }
    }

    @Test func `CONNECT gets 405 and the connection is closed`() async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.everything("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
            #expect(response.hasPrefix("HTTP/1.1 405 Method Not Allowed\r\n"))
        }
    }

    @Test func `mutated requests never keep the server from answering the next connection`() async throws {
        var generator = SeededGenerator(seed: 20_261_121)
        let request =
            "GET /file.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\nIf-Range: \"a\"\r\nContent-Length: 0\r\n\r\n"
        try await TestOrigin.with { origin in
            for _ in 0..<150 {
                var bytes = Array((request + request).utf8)
                for _ in 0..<Int.random(in: 1...6, using: &generator) {
                    let place = Int.random(in: 0..<bytes.count, using: &generator)
                    switch Int.random(in: 0..<3, using: &generator) {
                    case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                    case 1: bytes.removeSubrange(place..<min(bytes.count, place + 3))
                    default: bytes.insert(contentsOf: [0x0D, 0x0A, 0x25, 0x00].shuffled(using: &generator), at: place)
                    }
                }
                try await RawConnection.with(port: origin.server.address.port) { [bytes] connection in
                    // The server may have closed before everything was sent.
                    try? await connection.send(bytes: bytes)
                    try? await connection.closeOutput()
                    let response = await connection.rest()
                    #expect(response.isEmpty || response.starts(with: "HTTP/1.1 ".utf8))
                }
            }
            let response = try await origin.response()
            #expect(response.body == TestOrigin.content)
        }
    }
}
