import Foundation
import OriginServer
import Testing

/// Pipelined requests in one packet: none is misinterpreted, or processed after the connection's last response.
@Suite(.timeLimit(.minutes(5))) struct PipeliningTests {
    /// Sends everything at once to a server that accepts uploads and serves `victim`; returns its output.
    private func exchange(_ packet: String, halfCloses: Bool = false) async throws -> (
        text: String, files: [String: String]
    ) {
        try await withUploads { server, folder in
            try Data("precious".utf8).write(to: folder.appendingPathComponent("victim"))
            let text = try await RawConnection.with(port: server.address.port) { connection in
                try await connection.send(packet)
                if halfCloses { try await connection.closeOutput() }
                let text = String(decoding: await connection.rest(), as: UTF8.self)
                // An upload that was started is durable once a later one is.
                try await RawConnection.with(port: server.address.port) { other in
                    try await other.request("PUT", "/later", ["Content-Length: 1", "Connection: close"])
                    try await other.send("x")
                    #expect(statuses(String(decoding: await other.rest(), as: UTF8.self)) == ["201"])
                }
                return text
            }
            var files: [String: String] = [:]
            for name in ["victim", "other", "smug"] {
                files[name] = (try? Data(contentsOf: folder.appendingPathComponent(name)))
                    .map { String(decoding: $0, as: UTF8.self) }
            }
            return (text, files)
        }
    }

    /// The status codes of the responses, without progress reports.
    private func statuses(_ text: String) -> [String] {
        text.ranges(of: "HTTP/1.1 ").map { String(text[$0.upperBound...].prefix(3)) }.filter { $0 != "104" }
    }

    @Test(arguments: ["2 ", "2   ", "\t2"])
    func `a GET behind a PUT whose length has spaces around it is a GET`(length: String) async throws {
        let (text, files) = try await exchange(
            "PUT /other HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\nhi"
                + "GET /victim HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        #expect(statuses(text) == ["201", "200"])
        #expect(text.hasSuffix("precious"))
        #expect(files == ["victim": "precious", "other": "hi"])
    }

    @Test func `a length that can't be read ends the connection with 400, and nothing behind it is carried out`()
        async throws
    {
        let (text, files) = try await exchange(
            "GET /victim HTTP/1.1\r\nHost: a\r\n\r\n"
                + "PUT /other HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\nhi"
                + "GET /victim HTTP/1.1\r\nHost: a\r\n\r\nPUT /smug HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
            halfCloses: true
        )
        #expect(statuses(text) == ["200", "400"])
        #expect(text.contains("Connection: close\r\n"))
        #expect(files == ["victim": "precious"])
    }

    @Test(
        arguments: [
            (
                "POST /a/b HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
                "405"
            ),
            ("GET /victim HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "200"),
            (
                "GET /victim HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "5\r\nhello\r\n0\r\n\r\n", "200"
            ),
        ]
    )
    func `a request after the last response of a connection isn't executed`(last: String, status: String)
        async throws
    {
        let (text, files) = try await exchange(
            last + "PUT /smug HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
        )
        #expect(statuses(text) == [status])
        #expect(files == ["victim": "precious"])
    }

    @Test(arguments: ["", "Connection: close\r\n"])
    func `a client that ends its side after an upload gets the response`(field: String) async throws {
        let (text, files) = try await exchange(
            "PUT /other HTTP/1.1\r\nHost: a\r\n\(field)Content-Length: 2\r\n\r\nhi",
            halfCloses: true
        )
        #expect(statuses(text) == ["201"])
        #expect(text.contains("\r\n\r\n"))
        #expect(files["other"] == "hi")
    }

    @Test func `a client that ends its side in the middle of an upload gets 400`() async throws {
        let (text, files) = try await exchange(
            "PUT /other HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nhi",
            halfCloses: true
        )
        #expect(statuses(text) == ["400"])
        #expect(files["other"] == nil)
    }
}
