import Foundation
import Testing

/// 1xx responses.
@Suite(.timeLimit(.minutes(5))) struct InformationalResponseTests {
    private static let upload = "Upload-Draft-Interop-Version: 10\r\nUpload-Complete: ?1\r\nContent-Length: 3\r\n"

    /// RFC 9110, sections 10.1.1 and 15.2.
    @Test func `a client of HTTP 1.0 gets none`() async throws {
        try await TestOrigin.with([:], takesUploads: true) { origin in
            let head = "PUT /new.bin HTTP/1.0\r\n\(Self.upload)Expect: 100-continue\r\n\r\n"
            let response = try await origin.everything(head + "abc")
            #expect(response.hasPrefix("HTTP/1.1 201 "), "\(response)")
            #expect(response.ranges(of: "HTTP/1.1 ").count == 1)
            #expect(try Data(contentsOf: origin.url("new.bin")) == Data("abc".utf8))
        }
    }

    @Test func `a refused upload gets no 100 (Continue)`() async throws {
        try await TestOrigin.with([:], takesUploads: true) { origin in
            let fields = "Host: a\r\nContent-Length: \(1 << 40)\r\nExpect: 100-continue\r\n"
            let response = try await origin.everything("PUT /new.bin HTTP/1.1\r\n\(fields)\r\n")
            #expect(response.hasPrefix("HTTP/1.1 413 "), "\(response)")
        }
    }

    @Test func `a client that doesn't wait for 100 isn't sent one`() async throws {
        try await TestOrigin.with([:], takesUploads: true) { origin in
            let head = "PUT /new.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nConnection: close\r\n\r\n"
            let response = try await origin.everything(head + "abc")
            #expect(response.hasPrefix("HTTP/1.1 201 "), "\(response)")
        }
    }
}
