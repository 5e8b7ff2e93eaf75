import Foundation
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Invalid responses after a first connection that was cut at byte 100,000 of 300,000. The next range starts at 50,000.
@Suite(.timeLimit(.minutes(5))) struct MisbehaviourTests {
    private static let resource = Resource(size: 300_000)
    private static let received = 100_000
    private static let first = 50_000

    /// Downloads from a server that uses `respond` for all connections but the first.
    private func afterCut(
        _ resource: Resource = Self.resource,
        received: Int = Self.received,
        _ respond: @escaping @Sendable (ReceivedRequest) -> [Step]
    ) async throws -> (done: Attempted, file: [UInt8]?, requests: [ReceivedRequest]) {
        let folder = try Folder()
        let script: @Sendable (ReceivedRequest) -> [Step] = {
            $0.ordinal == 0 ? resource.serve($0, upTo: received) : respond($0)
        }
        return try await Script(script).serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            return (done, folder.file, server.requests)
        }
    }

    private static func body(from first: Int, through last: Int = 299_999) -> Step {
        .send(Array(resource.content[first...last]))
    }

    @Test func `a part that starts early is compared, and its new bytes are kept`() async throws {
        let (done, file, _) = try await afterCut { _ in
            [Self.resource.part(from: Self.first - 4_096), Self.body(from: Self.first - 4_096)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        #expect(done.summary?.bytesRepeated == 54_096)
        #expect(done.summary?.bytesCompared == 54_096)
    }

    @Test func `a part whose repeated bytes differ is not used`() async throws {
        let (done, file, _) = try await afterCut { request in
            guard request.ordinal == 1 else { return Self.resource.serve(request) }
            var wrong = Array(Self.resource.content[Self.first...])
            wrong[49_999] ^= 1
            return [Self.resource.part(from: Self.first), .send(wrong)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.rangeUnusable(.overlapDiffers)])
    }

    @Test(arguments: [[], ["ETag: v1"], ["ETag: \"v1\"", "ETag: \"v2\""]])
    func `a part of other bytes that names no version is never joined`(tags: [String]) async throws {
        let other = Resource(size: 300_000, seed: 5)
        let (done, file, requests) = try await afterCut { request in
            guard request.rangeStart != nil else { return Self.resource.serve(request) }
            let fields = ["Content-Range: bytes 50000-299999/300000", "Content-Length: 250000"]
            return [.head(206, tags + fields), .send(Array(other.content[Self.first...]))]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.rangeUnusable(.overlapDiffers)])
        #expect(requests.map { $0.rangeStart != nil } == [false, true, false])
    }

    @Test func `a part that starts more than 64 KiB early is rejected`() async throws {
        var dated = Self.resource
        dated.entityTag = nil
        dated.lastModified = "Sun, 06 Nov 1994 08:49:30 GMT"
        let (done, file, _) = try await afterCut(dated, received: 200_000) { request in
            guard request.rangeStart != nil else { return Self.resource.serve(request) }
            return [
                .head(206, ["Content-Range: bytes 68927-299999/300000", "Content-Length: 231073"]),
                Self.body(from: 68_927),
            ]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.rangeUnusable(.startsEarly(requested: 134_464, got: 68_927))])
    }

    @Test func `a part that starts early before a range that repeats 64 KiB is compared`() async throws {
        let (done, file, _) = try await afterCut(received: 200_000) { _ in
            [Self.resource.part(from: 134_464 - 4_096), Self.body(from: 134_464 - 4_096)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        #expect(done.summary?.bytesCompared == 69_632)
    }

    @Test(arguments: [
        ("Content-Range: bytes 200001-299999/300000", "99999"), ("Content-Range: bytes 0-299999/300000", "300000"),
        ("Content-Range: bytes 0-9/300000", "10"), ("Content-Range: bytes 50000-299999/300000", "199999"),
        ("Content-Range: octets 50000-299999/300000", "250000"), ("X-None: 1", "250000"),
        ("Content-Range: bytes */300000", "250000"),
        ("Content-Type: multipart/byteranges; boundary=x", "250000"),
    ])
    func `an unusable part is requested once more, then replaced by the full representation`(
        field: String,
        length: String
    ) async throws {
        let (done, file, requests) = try await afterCut(received: 200_000) { request in
            guard request.rangeStart != nil else { return Self.resource.serve(request) }
            return [.head(206, ["ETag: \"v1\"", field, "Content-Length: \(length)"]), Self.body(from: Self.first)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.count == 1)
        #expect(requests.map { $0.rangeStart != nil } == [false, true, true, false])
    }

    @Test(arguments: [
        ["ETag: \"v2\"", "Content-Range: bytes 50000-299999/300000"],
        ["ETag: W/\"v1\"", "Content-Range: bytes 50000-299999/300000"],
        ["ETag: \"v1\"", "Content-Range: bytes 50000-299999/300001"],
        ["ETag: \"v1\"", "Content-Range: bytes 50000-299999/300000", "Content-Encoding: gzip"],
    ])
    func `a part of something else makes the file start over at once`(fields: [String]) async throws {
        let (done, file, requests) = try await afterCut { request in
            guard request.rangeStart != nil else { return Self.resource.serve(request) }
            return [.head(206, fields + ["Content-Length: 250000"]), Self.body(from: Self.first)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.representationChanged])
        #expect(requests.count == 3)
    }

    @Test func `a part shorter than requested is not the end`() async throws {
        let (done, file, requests) = try await afterCut { request in
            guard let start = request.rangeStart, start < 200_000 else { return Self.resource.serve(request) }
            return [Self.resource.part(from: start, through: 199_999), Self.body(from: start, through: 199_999)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.isEmpty)
        // The third brings nothing but what it repeats.
        #expect(requests.map(\.rangeStart) == [nil, 50_000, 200_000 - 65_536, 200_000])
        #expect(done.waits.isEmpty)
    }

    @Test func `a chunked part that ends before its own range is continued from there`() async throws {
        let (done, file, _) = try await afterCut { request in
            guard request.ordinal == 1 else { return Self.resource.serve(request) }
            let fields = [
                "ETag: \"v1\"", "Content-Range: bytes 50000-299999/300000", "Transfer-Encoding: chunked",
            ]
            return [
                .head(206, fields), .text("186A0\r\n"), Self.body(from: 50_000, through: 149_999),
                .text("\r\n0\r\n\r\n"),
            ]
        }
        #expect(file == Self.resource.content)
        #expect(done.transientFailures.contains(.bodyTooShort))
        #expect(done.resumedAt == [100_000, 150_000])
    }

    @Test func `bytes beyond a chunked part's range are not written`() async throws {
        let (done, file, _) = try await afterCut { request in
            guard request.ordinal == 1 else { return Self.resource.serve(request) }
            let fields = [
                "ETag: \"v1\"", "Content-Range: bytes 50000-149999/300000", "Transfer-Encoding: chunked",
            ]
            return [
                .head(206, fields), .text("186AA\r\n"), Self.body(from: 50_000, through: 149_999),
                .text("0123456789\r\n0\r\n\r\n"),
            ]
        }
        #expect(file == Self.resource.content)
        #expect(done.transientFailures.contains(.rejected(.bodyTooLong)))
    }

    @Test func `a digest still applies to a full representation sent again under the same tag`() async throws {
        var digested = Self.resource
        digested.sendsDigest = true
        let other = Resource(size: 300_000, seed: 5)
        let (done, file, _) = try await afterCut(digested) { request in
            [Self.resource.full(), .send(request.ordinal <= 2 ? other.content : Self.resource.content)]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.rangeIgnored, .digestMismatch])
        #expect(done.summary?.verified == [.server])
    }

    @Test func `a length still applies to a full representation sent again under the same tag`() async throws {
        let (done, file, _) = try await afterCut { request in
            guard request.ordinal <= 2 else { return Self.resource.serve(request) }
            return [.head(200, Self.resource.fields), Self.body(from: 0, through: 49_999)]
        }
        #expect(file == Self.resource.content)
        #expect(done.transientFailures.contains(.bodyTooShort))
        #expect(done.resumedAt == [50_000])
        #expect(done.summary?.proof == DownloadProof.none(.oneValidator))
    }

    @Test(arguments: [false, true])
    func `a body that runs past its range is left, though it never ends`(isRight: Bool) async throws {
        var digested = Self.resource
        digested.sendsDigest = true
        let wrong = Resource(size: 300_000, seed: 5)
        let (done, file, requests) = try await afterCut(digested) { request in
            guard request.ordinal == 1 else { return Self.resource.serve(request) }
            let content = Self.resource.content[..<100_000] + (isRight ? Self.resource : wrong).content[100_000...]
            let fields = [
                "ETag: \"v1\"", "Content-Range: bytes 50000-299999/300000", "Transfer-Encoding: chunked",
            ]
            return [
                .head(206, fields), .text("3D090\r\n"), .send(Array(content[50_000...])), .text("\r\n1\r\nx\r\n"),
                .stall,
            ]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == (isRight ? [] : [.digestMismatch]))
        #expect(done.transientFailures.allSatisfy { if case .connectionLost = $0 { true } else { false } })
        #expect(requests.count == (isRight ? 2 : 3))
    }

    @Test func `412 means changed`() async throws {
        let (done, file, _) = try await afterCut { request in
            request.rangeStart == nil
                ? Self.resource.serve(request) : [.head(412, ["Content-Length: 0"])]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts == [.representationChanged])
    }

    @Test(arguments: [
        "Content-Range: bytes */99999", "Content-Range: bytes */50", "Content-Range: bytes */300000",
        "Content-Range: bytes */400000", "X-None: 1", "Content-Range: bytes 1-2/3",
    ])
    func `416 never ends as success when bytes are missing, and its body is never written`(
        field: String
    ) async throws {
        let (done, file, _) = try await afterCut { request in
            request.rangeStart == nil
                ? Self.resource.serve(request) : [.head(416, [field, "Content-Length: 5"]), .text("oops!")]
        }
        #expect(file == Self.resource.content)
        #expect(done.restarts.count == 1)
    }

    @Test(arguments: [true, false])
    func `a chunked body without its last chunk is complete when the next range shows nothing more`(
        sendsTag: Bool
    ) async throws {
        // A server that knows the length only once the whole range is asked for.
        let resource = Self.resource
        let script: @Sendable (ReceivedRequest) -> [Step] = { request in
            if request.ordinal == 0 {
                return [
                    .head(200, ["ETag: \"v1\"", "Transfer-Encoding: chunked"]), .text("493E0\r\n"),
                    .send(resource.content), .text("\r\n"),
                ]
            }
            let start = request.rangeStart ?? 0
            let fields = ["Content-Range: bytes \(start)-299999/300000", "Content-Length: \(300_000 - start)"]
            return [.head(206, fields + (sendsTag ? ["ETag: \"v1\""] : [])), Self.body(from: start)]
        }
        let (done, folder, requests) = try await download(script)
        #expect(done.summary?.bytesCompared == 65_536)
        #expect(done.summary?.proof == .none(sendsTag ? .oneValidator : .overlapOnly))
        #expect(folder.file == resource.content)
        #expect(requests.map(\.method) == ["GET", "GET"])
    }

    @Test func `200 with a partial Content-Range is not the full representation`() async throws {
        let script: @Sendable (ReceivedRequest) -> [Step] = { request in
            guard request.ordinal == 0 else { return Self.resource.serve(request) }
            return [
                .head(200, ["Content-Range: bytes 0-99/300000", "Content-Length: 100"]),
                Self.body(from: 0, through: 99),
            ]
        }
        let (done, folder, _) = try await download(script)
        #expect(done.transientFailures == [.rejected(.lengthsDisagree)])
        #expect(folder.file == Self.resource.content)
    }
}
