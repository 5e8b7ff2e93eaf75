import Foundation
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@testable import OriginServer

/// The request line parser, alone and in front of the decoder.
@Suite struct RequestLineTests {
    private static let longest = RequestTarget.maximumLength

    /// The first verdict on `text` other than `incomplete`.
    private func verdict(_ text: String) -> RequestLine.Verdict {
        var line = RequestLine()
        for byte in text.utf8 {
            let verdict = line.receive(byte)
            if verdict != .incomplete { return verdict }
        }
        return .incomplete
    }

    private func complete(_ method: String, _ decoded: String) -> RequestLine.Verdict {
        .complete(method: method, decoded: Array(decoded.utf8))
    }

    @Test func `a later minor version is decoded as HTTP 1.1, an earlier one as it is`() {
        for version in ["1.1", "1.2", "1.9"] {
            #expect(verdict("GET /f HTTP/\(version)\r\n") == complete("GET", "GET /f HTTP/1.1\r\n"))
        }
        #expect(verdict("GET /f HTTP/1.0\r\n") == complete("GET", "GET /f HTTP/1.0\r\n"))
    }

    @Test(arguments: ["0.9", "2.0", "3.7", "9.9"])
    func `another major version isn't supported`(version: String) {
        #expect(verdict("PRI * HTTP/\(version)\r\n") == .rejected(.versionNotSupported))
    }

    @Test(arguments: [
        "GET /f\r\n", "GET\r\n", "GET /f HTTP/1.10\r\n", "GET /f HTTP/11\r\n", "GET /f http/1.1\r\n",
        "GET /f HTTP/1.x\r\n",
        "GET /f HTTP/1.1 \r\n", "GET /f ICE/1.0\r\n", "GET /a b HTTP/1.1\r\n", " GET /f HTTP/1.1\r\n", "GET /\u{1}",
        "GET /\u{7F}", "\u{16}\u{3}\u{1}", "G@T", "GET /f HTTP/1.1\n", "GET /f HTTP/1.1\rx", "GET /f\n", "\rGET",
    ])
    func `what no version of the grammar has is malformed, as soon as it shows`(text: String) {
        #expect(verdict(text) == .rejected(.malformed))
    }

    @Test func `a target of the limit is read, and one byte more is rejected before the line ends`() {
        let target = "/" + String(repeating: "x", count: Self.longest - 1)
        #expect(verdict("PUT \(target) HTTP/1.1\r\n") == complete("PUT", "PUT \(target) HTTP/1.1\r\n"))
        #expect(verdict("PUT \(target)x") == .rejected(.targetTooLong))
    }

    @Test func `a method of the limit is read, and one byte more is unknown before the line ends`() {
        let method = String(repeating: "X", count: RequestLine.maximumMethodLength)
        #expect(verdict("\(method) / HTTP/1.1\r\n") == complete(method, "POST / HTTP/1.1\r\n"))
        #expect(verdict("\(method)X") == .rejected(.methodUnknown))
    }

    @Test func `empty lines in front of a request and several spaces in it are passed over`() {
        #expect(verdict("\r\n\n\r\nGET   /f HTTP/1.1\r\n") == complete("GET", "GET /f HTTP/1.1\r\n"))
    }

    /// The response statuses of `requests`, sent at once and byte by byte.
    private func expectStatuses(_ expected: [String], _ requests: String) async throws {
        try await TestOrigin.with(["f": [1], "sub/index.html": [2]]) { origin in
            for isSplit in [false, true] {
                let response = try await RawConnection.with(port: origin.server.address.port) { connection in
                    if isSplit {
                        try await connection.sendSplit(requests)
                    } else {
                        try await connection.send(requests)
                    }
                    try await connection.closeOutput()
                    return String(decoding: await connection.rest(), as: UTF8.self)
                }
                let statuses = response.matches(of: #/HTTP/1\.1 ([0-9]{3}) /#).map { String($0.output.1) }
                #expect(statuses == expected, "split: \(isSplit)")
            }
        }
    }

    private static let get = "GET /f HTTP/1.1\r\nHost: a\r\n\r\n"

    @Test func `requests are framed by length or chunks, whatever lines the content has`() async throws {
        let content = "BREW / HTTP/7.7\r\nHost: a\r\n\r\n"
        let head = "PUT /f HTTP/1.3\r\nHost: a\r\n"
        try await expectStatuses(
            ["405", "405", "200", "501", "200"],
            "\(head)Content-Length: \(content.utf8.count)\r\n\r\n\(content)"
                + "\(head)Transfer-Encoding: chunked\r\n\r\n1c\r\n\(content.prefix(28))\r\n001;f=1\r\n\n\r\n"
                + "00\r\nAB: y\r\n\r\n" + Self.get
                + "BREW /f HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + Self.get
        )
    }

    /// Counts the buffers that pass.
    private final class BufferCounter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        var count = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            count += 1
            context.fireChannelRead(data)
        }
    }

    @Test func `a chunk passes in the pieces that it arrives in, whatever lines it has`() throws {
        let (progress, counter) = (RequestProgress(), BufferCounter())
        let channel = EmbeddedChannel()
        try channel.pipeline.syncOperations.addHandlers([
            RequestLineHandler(progress), counter, ByteToMessageHandler(HTTPRequestDecoder()),
            RequestProgressHandler(progress),
        ])
        let lines = String(repeating: "\n", count: 0x10000)
        for text in ["PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n100", "00\r\n", lines, "\r\n0\r\n\r\n"] {
            try channel.writeInbound(ByteBuffer(string: text))
        }
        #expect(counter.count == 9)
        var last: HTTPServerRequestPart?
        while let part = try channel.readInbound(as: HTTPServerRequestPart.self) { last = part }
        #expect(last == .end(nil))
        _ = try channel.finish()
    }

    @Test(arguments: [
        ("GET /f HTTP/2.0\r\n\r\n", "505"), ("GET /f HTTP/1.1\n\n", "400"), ("GET /f HTTP/1.1\r\nHost: a\n\r\n", "400"),
        ("GET /f HTTP/1.1\r\nHost: a\r\n\n", "400"), ("GET /f\r\n", "400"),
        ("GET /\(String(repeating: "x", count: 60_000)) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
        ("OPTIONS /\(String(repeating: "x", count: 60_000)) HTTP/1.1\r\nHost: a\r\n\r\n", "414"),
        ("\(String(repeating: "X", count: 60_000)) / HTTP/1.1\r\nHost: a\r\n\r\n", "501"),
        ("GET /f HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "x", count: 60_000))\r\n\r\n", "431"),
    ])
    func `a request that is refused by its bytes is answered in its turn, and is the last`(
        request: String,
        status: String
    ) async throws {
        try await TestOrigin.with(["f": [1]]) { origin in
            let response = try await origin.everything(Self.get + Self.get + request + Self.get)
            let statuses = response.matches(of: #/HTTP/1\.1 ([0-9]{3}) /#).map { String($0.output.1) }
            #expect(statuses == ["200", "200", status])
        }
    }

    @Test(arguments: [
        ("BREW", 501), ("get", 501), ("SOURCE", 501), ("M-SEARCH", 501), ("PROPFIND", 405), ("QUERY", 405),
        ("TRACE", 405), ("PRI", 405),
    ])
    func `an unknown method is 501, a registered one that isn't allowed 405`(method: String, status: Int) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response(method)
            #expect(response.status == status)
            #expect((response["allow"] != nil) == (status == 405))
            let record = await origin.records.next()
            #expect(record?.method == method)
        }
    }

    @Test(arguments: ["HTTP/1.2", "HTTP/1.9"])
    func `a request of a later minor version gets an HTTP/1.1 response, and keeps its connection`(
        version: String
    ) async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                for _ in 0..<2 {
                    try await connection.send("GET /file.bin \(version)\r\nHost: a\r\n\r\n")
                    let response = try await connection.response()
                    #expect(response.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
                    #expect(response["connection"] == nil)
                    #expect(response.body == TestOrigin.content)
                }
            }
        }
    }
}

/// The redirect from a folder's name to the folder.
@Suite struct RedirectionTests {
    @Test(arguments: [
        ("/sub", "/sub/"), ("/sub?a=//evil&b", "/sub/?a=//evil&b"), ("/sub?", "/sub/?"), ("/s%75b", "/sub/"),
        ("http://evil/sub?x", "/sub/?x"), ("/a%20%C3%A9%3a/b", "/a%20%C3%A9:/b/"), ("/link", "/link/"),
        ("/self", "/self/"),
    ])
    func `a folder without its slash is redirected by a reference that names no host`(
        target: String,
        location: String
    ) async throws {
        try await TestOrigin.with(["sub/index.html": [1], "a é:/b/index.html": [1]]) { origin in
            for (name, target) in [("link", "sub"), ("self", ".")] {
                try FileManager.default.createSymbolicLink(atPath: origin.url(name).path, withDestinationPath: target)
            }
            for method in ["GET", "HEAD"] {
                let response = try await origin.response(method, target, "Range: bytes=0-1")
                #expect(response.status == 301)
                #expect(response["location"] == location)
                #expect(response.body.isEmpty == (method == "HEAD"))
            }
        }
    }

    @Test(arguments: [
        "//evil", "//evil/..", "/\\evil", "/%2fevil", "/%5cevil", "//sub", "/sub//", "/.hidden", "/out", "/sub/..",
    ])
    func `nothing else is redirected`(target: String) async throws {
        try await TestOrigin.with(["sub/index.html": [1], ".hidden/index.html": [1]]) { origin in
            try FileManager.default.createSymbolicLink(atPath: origin.url("out").path, withDestinationPath: "..")
            let response = try await origin.response("GET", target)
            #expect(response.status == 404)
            #expect(response["location"] == nil)
        }
    }

    @Test func `a folder is no place for other methods`() async throws {
        try await TestOrigin.with(["sub/index.html": [1]]) { origin in
            #expect(try await origin.response("OPTIONS", "/sub").status == 204)
            let refused = try await origin.response("POST", "/sub")
            #expect(refused.status == 405)
        }
    }
}
