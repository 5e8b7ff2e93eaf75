import Foundation
import OriginServer
import TestStreams
import Testing

/// HTTP/1.0 clients.
@Suite(.timeLimit(.minutes(5))) struct OldClientTests {
    /// RFC 9110, section 10.1.1.
    @Test func `an expectation of HTTP 1 dot 0 is ignored`() async throws {
        try await TestOrigin.with { origin in
            try await RawConnection.with(port: origin.server.address.port) { connection in
                let expecting =
                    "GET /file.bin HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
                // The content is sent without a 100, and the connection continues.
                try await connection.send(expecting + "hello" + "GET /file.bin HTTP/1.1\r\nHost: a\r\n\r\n")
                let first = try await connection.response()
                #expect(first.status == 200)
                #expect(first["connection"] == "keep-alive")
                #expect(try await connection.response().status == 200)
            }
        }
    }

    /// A client of HTTP/1.0 knows no interim responses (RFC 9110, sections 10.1.1 and 15.2).
    @Test func `a client of HTTP 1 dot 0 gets the final response alone`() async throws {
        try await withUploads { server, folder in
            try await RawConnection.with(port: server.address.port) { connection in
                let fields = ["Upload-Draft-Interop-Version: 10", "Upload-Complete: ?1", "Expect: 100-continue"]
                let head = ["PUT /new.bin HTTP/1.0", "Content-Length: 1000"] + fields
                try await connection.send(head.map { $0 + "\r\n" }.joined() + "\r\n")
                // The content is sent once the server waits for it: it has created the file and answered another
                // request.
                let inside = folder.appendingPathComponent(".squall-uploads").path
                #expect(try await eventually { try FileManager.default.contentsOfDirectory(atPath: inside).count >= 2 })
                try await RawConnection.with(port: server.address.port) { other in
                    try await other.request("GET", "/none.bin", [])
                    #expect(try await other.response().status == 404)
                }
                try await connection.send(bytes: TestOrigin.content)
                #expect(try await connection.response().status == 201)
            }
            let stored = try Data(contentsOf: folder.appendingPathComponent("new.bin"))
            #expect(Array(stored) == TestOrigin.content)
        }
    }
}
