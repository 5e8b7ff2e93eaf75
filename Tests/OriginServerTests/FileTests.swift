import Digests
import Foundation
import HTTPSemantics
import OriginServer
import Testing
import TransferProtocol

@Suite struct FileTests {
    @Test func `a file is sent byte for byte, with all that a transfer needs`() async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response()
            let tag = try #require(response["etag"])
            #expect(
                response.head == """
                    HTTP/1.1 200 OK\r
                    Date: \(TestOrigin.now)\r
                    Accept-Ranges: bytes\r
                    Content-Type: application/octet-stream\r
                    ETag: \(tag)\r
                    Last-Modified: \(TestOrigin.modified)\r
                    Content-Length: 1000\r
                    \r

                    """
            )
            #expect(EntityTag(tag)?.isWeak == false)
            #expect(response.body == TestOrigin.content)
            let record = await origin.records.next()
            #expect(record?.method == "GET")
            #expect(record?.target == "/file.bin")
            #expect(record?.status == 200)
            #expect(record?.bytesSent == 1_000)
            #expect(record?.ending == .complete)
            #expect(record?.range == nil)
        }
    }

    @Test func `HEAD has the fields of GET`() async throws {
        try await TestOrigin.with { origin in
            let get = try await origin.response()
            let head = try await origin.response("HEAD")
            #expect(get.head == head.head)
        }
    }

    @Test func `a file of many chunks arrives complete`() async throws {
        let bytes = (0..<300_001).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
        for chunkBytes in [1_000, 65_536, 300_001] {
            var limits = OriginLimits.patient
            limits.chunkBytes = chunkBytes
            try await TestOrigin.with(["big.bin": bytes], limits: limits) { origin in
                #expect(try await origin.response("GET", "/big.bin").body == bytes)
                let part = try await origin.response("GET", "/big.bin", "Range: bytes=999-200000")
                #expect(part.body == Array(bytes[999...200_000]))
            }
        }
    }

    @Test func `the tag changes with every change of the file, and with nothing else`() async throws {
        try await TestOrigin.with { origin in
            let tag = try await origin.response()["etag"]
            #expect(try await origin.response()["etag"] == tag)
            // The same length and mtime, but other bytes: only ctime differs.
            let handle = try FileHandle(forWritingTo: origin.url("file.bin"))
            try handle.write(contentsOf: Data([1, 2, 3]))
            try handle.close()
            try origin.setModified("file.bin", to: TestOrigin.modified)
            let rewritten = try await origin.response()
            #expect(rewritten["last-modified"] == TestOrigin.modified)
            #expect(rewritten["etag"] != tag)
            // Replaced by a file with the same content.
            try origin.write(TestOrigin.content, to: "new")
            try FileManager.default.removeItem(at: origin.url("file.bin"))
            try FileManager.default.moveItem(at: origin.url("new"), to: origin.url("file.bin"))
            let replaced = try await origin.response()
            #expect(replaced["etag"] != tag)
            #expect(replaced["etag"] != rewritten["etag"])
        }
    }

    @Test func `a file from the future is as old as the response`() async throws {
        try await TestOrigin.with { origin in
            try origin.setModified("file.bin", to: "Fri, 01 Jan 2100 00:00:00 GMT")
            #expect(try await origin.response()["last-modified"] == TestOrigin.now)
            let part = try await origin.response("GET", "/file.bin", "Range: bytes=0-1", "If-Range: \(TestOrigin.now)")
            #expect(part.status == 200)
        }
    }

    @Test(
        arguments: [
            ("a.html", "text/html; charset=utf-8"), ("a.JSON", "application/json"), ("a.tar.gz", "application/gzip"),
            ("a", "application/octet-stream"), ("a.", "application/octet-stream"), ("html", "application/octet-stream"),
            ("a.unknown", "application/octet-stream"),
        ]
    )
    func `the media type follows from the name`(_ name: String, _ type: String) async throws {
        try await TestOrigin.with([name: [1]]) { origin in
            let response = try await origin.response("HEAD", "/" + name)
            #expect(response["content-type"] == type)
        }
    }

    @Test func `the representation digest goes with GET, HEAD and a part when requested`() async throws {
        try await TestOrigin.with { origin in
            let expected = ReprDigest(sha256: SHA256.hash(TestOrigin.content))?.headerValue
            let want = "Want-Repr-Digest: sha-512=3, sha-256=9"
            #expect(try await origin.response("GET", "/file.bin", want)["repr-digest"] == expected)
            #expect(try await origin.response("HEAD", "/file.bin", want)["repr-digest"] == expected)
            let part = try await origin.response("GET", "/file.bin", want, "Range: bytes=0-0")
            #expect(part.status == 206)
            #expect(part["repr-digest"] == expected)
        }
    }

    @Test(arguments: ["Want-Repr-Digest: sha-256=0", "Want-Repr-Digest: sha-512=9", "Want-Repr-Digest: =", "A: b"])
    func `a response carries no digest that wasn't requested`(_ field: String) async throws {
        try await TestOrigin.with { origin in
            let response = try await origin.response("GET", "/file.bin", field)
            #expect(response.status == 200)
            #expect(response["repr-digest"] == nil)
        }
    }

    @Test func `a response doesn't wait for a digest that takes too long`() async throws {
        var limits = OriginLimits.patient
        limits.digestTimeout = .zero
        try await TestOrigin.with([:], limits: limits) { origin in
            // Reading it completely would take longer than any test.
            try origin.writeSparse(1 << 40, to: "huge")
            let want = "Want-Repr-Digest: sha-256=9"
            let part = try await origin.response("GET", "/huge", want, "Range: bytes=0-0")
            #expect(part.status == 206)
            #expect(part["repr-digest"] == nil)
            #expect(try await origin.response("HEAD", "/huge", want)["content-length"] == String(1 << 40))
        }
    }

    @Test func `a digest that was known before is given at once, as long as the file is the same`() async throws {
        var limits = OriginLimits.patient
        limits.digestTimeout = .zero
        try await TestOrigin.with([:], limits: limits) { origin in
            // Reading it completely would take longer than any test.
            try origin.writeSparse(1 << 40, to: "huge")
            let digest = [UInt8](repeating: 7, count: 32)
            await origin.server.remember(sha256: digest, ofFile: "huge")
            await origin.server.remember(sha256: digest, ofFile: "../huge")
            await origin.server.remember(sha256: digest, ofFile: "missing")
            let want = "Want-Repr-Digest: sha-256=9"
            #expect(
                try await origin.response("HEAD", "/huge", want)["repr-digest"]
                    == ReprDigest(sha256: digest)?.headerValue
            )
            try origin.setModified("huge", to: "Fri, 20 Nov 2026 12:00:00 GMT")
            #expect(try await origin.response("HEAD", "/huge", want)["repr-digest"] == nil)
        }
    }

    @Test func `a file is sent while its digest is computed`() async throws {
        var limits = OriginLimits.patient
        limits.digestTimeout = .zero
        try await TestOrigin.with([:], limits: limits) { origin in
            try origin.writeSparse(1 << 40, to: "huge")
            let count = 16 << 20
            let range = "Range: bytes=0-\(count - 1)"
            let part = try await origin.response("GET", "/huge", "Want-Repr-Digest: sha-256=9", range)
            #expect(part["repr-digest"] == nil)
            #expect(part.body.count == count)
        }
    }

    @Test func `the digest of an empty file is that of nothing`() async throws {
        try await TestOrigin.with(["empty": []]) { origin in
            let response = try await origin.response("GET", "/empty", "Want-Repr-Digest: sha-256=1")
            #expect(response["repr-digest"] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        }
    }

    @Test func `a response other than the file has no digest`() async throws {
        try await TestOrigin.with { origin in
            let want = "Want-Repr-Digest: sha-256=9"
            for other in ["If-None-Match: *", "Range: bytes=1000-", "If-Match: \"a\""] {
                let response = try await origin.response("GET", "/file.bin", want, other)
                #expect(response.status >= 300)
                #expect(response["repr-digest"] == nil)
            }
        }
    }
}
