import Foundation
import NIOHPACK
import OriginServer
import Testing

/// Uploads over HTTP/2.
@Suite(.timeLimit(.minutes(2))) struct HTTP2UploadTests {
    private static let version: HTTP2Peer.Block = [("upload-draft-interop-version", "10")]

    private static func append(_ offset: String, _ rest: Int) -> HTTP2Peer.Block {
        version + [
            ("upload-complete", "?1"), ("upload-offset", offset), ("content-type", "application/partial-upload"),
            ("content-length", "\(rest)"),
        ]
    }

    @Test func `a reset in the middle of an upload keeps the received bytes and the connection`() async throws {
        let bytes = [UInt8].init((0..<500_000).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
        try await SecureOrigin.withPeer([:], takesUploads: true) { peer, origin in
            let fields = Self.version + [("upload-complete", "?1"), ("content-length", "500000")]
            try await peer.request(1, "POST", "/new.bin", fields, ends: false)
            let early = try await peer.head(of: 1)
            #expect(early.first(name: ":status") == "104")
            #expect(early.first(name: "upload-draft-interop-version") == "10")
            let location = try #require(early.first(name: "location"))
            try await peer.content(1, Array(bytes[..<300_000]), ends: false)
            try await peer.reset(1)
            let state = try await peer.exchange(3, "HEAD", location, Self.version)
            #expect(state.status == 204)
            #expect(state["upload-offset"] == "300000")
            #expect(state["upload-complete"] == "?0")
            try await peer.request(5, "PATCH", location, Self.append("300000", 200_000), ends: false)
            try await peer.content(5, Array(bytes[300_000...]), ends: true)
            let final = try await peer.response(5)
            #expect(final.status == 201)
            #expect(final["upload-complete"] == "?1")
            #expect(try Data(contentsOf: origin.url("new.bin")) == Data(bytes))
        }
    }

    @Test func `a newer request on the same connection resets the older one`() async throws {
        try await SecureOrigin.withPeer([:], takesUploads: true) { peer, _ in
            let fields = Self.version + [("upload-complete", "?1"), ("content-length", "1000")]
            try await peer.request(1, "POST", "/new.bin", fields, ends: false)
            let location = try await peer.location(1)
            try await peer.content(1, [1, 2, 3], ends: false)
            let state = try await peer.exchange(3, "HEAD", location, Self.version)
            #expect(["0", "3"].contains(state["upload-offset"] ?? ""), "\(state)")
            #expect(try await peer.response(1).reset != nil)
            #expect(try await peer.exchange(5, "DELETE", location, Self.version).status == 204)
            #expect(try await peer.exchange(7, "HEAD", location, Self.version).status == 404)
        }
    }

    @Test func `content shorter or longer than announced resets the stream, and the received bytes are kept`()
        async throws
    {
        try await SecureOrigin.withPeer([:], takesUploads: true) { peer, _ in
            for (stream, sent) in [(1, 5), (5, 15)] {
                let fields = Self.version + [("upload-complete", "?1"), ("content-length", "10")]
                try await peer.request(stream, "POST", "/new.bin", fields, ends: false)
                let location = try await peer.location(stream)
                try await peer.content(stream, [UInt8](repeating: 1, count: sent), ends: true)
                #expect(try await peer.response(stream).reset == 1)
                let state = try await peer.exchange(stream + 2, "HEAD", location, Self.version)
                #expect(state["upload-complete"] == "?0")
                // Content that violates the length is forwarded only in part.
                #expect(["0", "5"].contains(state["upload-offset"] ?? ""), "\(state)")
            }
        }
    }

    @Test func `an upload is refused before its content has come`() async throws {
        try await SecureOrigin.withPeer([:], takesUploads: true) { peer, _ in
            try await peer.request(1, "PUT", "/new.bin", [("content-length", "\(1 << 40)")], ends: false)
            let refused = try await peer.response(1)
            #expect(refused.status == 413)
            #expect(refused.isEnded)
            try await peer.settle()
            // The client learns that the rest isn't needed (RFC 9113, section 8.1).
            #expect(peer.streams[1]?.reset == 0)
            #expect(try await peer.exchange(3, "GET", "/none").status == 404)
        }
    }

    @Test func `100 (Continue) is sent when the server accepts the content`() async throws {
        try await SecureOrigin.withPeer([:], takesUploads: true) { peer, _ in
            let fields: HTTP2Peer.Block = [("content-length", "3"), ("expect", "100-continue")]
            try await peer.request(1, "PUT", "/new.bin", fields, ends: false)
            #expect(try await peer.head(of: 1).first(name: ":status") == "100")
            try await peer.content(1, [1, 2, 3], ends: true)
            #expect(try await peer.response(1).status == 201)
        }
    }
}

extension HTTP2Peer {
    /// The upload URL in the next head on its stream.
    fileprivate mutating func location(_ stream: Int) async throws -> String {
        let head = try await head(of: stream)
        return try #require(head.first(name: "location"), "\(head)")
    }
}
