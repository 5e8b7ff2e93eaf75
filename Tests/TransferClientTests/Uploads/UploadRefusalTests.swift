import Digests
import Foundation
import HTTPSemantics
import HTTPTypes
import TestStreams
import TestUploadServers
import Testing
import TransferClient
import TransferProtocol

/// Uploads with refusals, stalls and invalid responses.
@Suite(.timeLimit(.minutes(5))) struct UploadRefusalTests {
    private static let bytes = testBytes(300_000)

    @Test(arguments: [UploadServerKind.ordinary, .dialect(.v10)], [403, 413])
    func `a refusal before the content is sent is read`(kind: UploadServerKind, status: Int) async throws {
        var habits = UploadServerHabits()
        habits.refuse = { _, _ in status }
        try await withUploadServer(kind, habits) { server in
            let folder = try UploadFolder(Self.bytes)
            let attempted = await upload(folder, folder.request(server.url)) { $0.interimResponseLimit = .seconds(30) }
            #expect(attempted.error == .refused(.status(status)))
            #expect(attempted.error?.disposition == .final)
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test(arguments: [403, 405, 423])
    func `an upload that can't be continued for now is kept, and the next run continues it`(status: Int) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 0 ? 400_000 : nil }
        habits.refuse = { ordinal, _ in ordinal == 1 ? status : nil }
        try await withUploadServer(.dialect(.v10), habits) { server in
            let bytes = testBytes(900_000)
            let folder = try UploadFolder(bytes)
            let first = await upload(folder, folder.request(server.url))
            let journal = folder.journals.appending(try #require(folder.journalNames.first)).string
            #expect(first.error == .refused(.uploadRefused(status: status, journal: journal)))
            let second = await upload(folder, folder.request(server.url))
            #expect(second.events.first == .started(total: 900_000, isContinued: true))
            #expect(second.resumedAt.first ?? 0 > 0)
            #expect(server.delivered == [bytes])
            #expect(server.requests.allSatisfy { $0.method != "DELETE" })
            #expect(folder.journalNames.isEmpty)
        }
    }

    @Test(arguments: [UploadWireFormat.v9, .v10])
    func `a file that its target refuses is refused by the next run, too`(dialect: UploadWireFormat) async throws {
        var habits = UploadServerHabits()
        habits.cut = { $0 == 0 ? 400_000 : nil }
        habits.verdict = 422
        try await withUploadServer(.dialect(dialect), habits) { server in
            let bytes = testBytes(900_000)
            let folder = try UploadFolder(bytes)
            var request = folder.request(server.url)
            request.dialects = .only(dialect)
            for run in 1...2 {
                #expect(await upload(folder, request).error == .refused(.status(422)))
                #expect(server.delivered == Array(repeating: bytes, count: run))
                #expect(folder.journalNames.isEmpty)
            }
        }
    }

    @Test func `the digest that the server sends verifies the upload, or fails it`() async throws {
        let empty = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
        var habits = UploadServerHabits()
        habits.digest = empty
        try await withUploadServer(.dialect(.v10), habits) { server in
            let right = try UploadFolder([])
            let proved = await upload(right, right.request(server.url))
            #expect(proved.summary?.uploadProof == .digest)
            #expect(proved.events.contains(.verified(.server)))
            let wrong = try UploadFolder(Self.bytes)
            let failed = await upload(wrong, wrong.request(server.url))
            guard case .digestRejected = failed.error else {
                Issue.record("\(failed.result)")
                return
            }
            #expect(failed.error?.disposition == .final)
        }
    }

    /// The uploaded file is empty, so its digest is that of no bytes.
    @Test(arguments: [
        ("stored", nil, "", UploadProof.digest), ("stored", nil, "stored", .accepted),
        ("stored", nil, "other", .accepted), ("stored", "/target", "", .digest), ("stored", "/target", "stored", nil),
        ("", nil, "other", nil),
        ("stored", "/status", "stored", .accepted),
    ])
    func `a digest of the response's own content says nothing of the file`(
        content: String,
        location: String?,
        digested: String,
        proof: UploadProof?
    ) async throws {
        var habits = UploadServerHabits()
        habits.content = content
        habits.contentLocation = location
        habits.digest = try #require(ReprDigest(sha256: SHA256.hash(digested.utf8))).headerValue
        try await withUploadServer(.ordinary, habits) { server in
            let folder = try UploadFolder([])
            var request = folder.request(server.url)
            request.url = try TransferURL(server.url).resolving("/target").text
            #expect(await upload(folder, request).summary?.uploadProof == proof)
        }
    }

    @Test func `the digest of the file goes with the creation, and the version with every request`() async throws {
        try await withUploadServer(.dialect(.v6)) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.fields = [.contentType: "text/plain"]
            let attempted = await upload(folder, request)
            #expect(attempted.error == nil)
            let digest = try #require(attempted.summary.flatMap { ReprDigest(sha256: $0.sha256) })
            let versions = server.requests.map { $0.fields[.uploadDraftInteropVersion] }
            #expect(versions == ["10", "6"])
            #expect(server.requests.allSatisfy { $0.fields[.reprDigest] == digest.headerValue })
            #expect(server.requests.allSatisfy { $0.fields[.contentType] == "text/plain" })
        }
    }

    @Test func `a digest that the caller knows goes with the upload, and another than 32 bytes is no digest`()
        async throws
    {
        try await withUploadServer(.dialect(.v10)) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.sha256 = [UInt8](repeating: 7, count: 32)
            let attempted = await upload(folder, request)
            #expect(attempted.summary?.sha256 == request.sha256)
            let digest = try #require(request.sha256.flatMap { ReprDigest(sha256: $0) })
            #expect(server.requests.first?.fields[.reprDigest] == digest.headerValue)
            request.sha256 = [7]
            #expect(await upload(folder, request).error == .invalidDigest(count: 1))
        }
    }

    @Test func `an explicit dialect isn't replaced by another`() async throws {
        try await withUploadServer(.dialect(.v6)) { server in
            let folder = try UploadFolder(Self.bytes)
            var request = folder.request(server.url)
            request.dialects = .only(.v9)
            let attempted = await upload(folder, request)
            #expect(attempted.error == .refused(.dialectRefused(6)))
        }
    }

    @Test func `a server that accepts no bytes is abandoned, and the upload can be resumed`() async throws {
        var habits = UploadServerHabits()
        habits.isDeaf = true
        try await withUploadServer(.dialect(.v10), habits) { server in
            // More than two socket buffers.
            let folder = try UploadFolder(testBytes(30_000_000))
            let attempted = await upload(folder, folder.request(server.url)) {
                // Long enough for the server to name the upload, even on a busy machine.
                $0.stall.window = .seconds(3)
                $0.retry.maximumAttempts = 1
            }
            #expect(attempted.error == .gaveUp(.attempts(1), .stalled))
            #expect(attempted.error?.disposition == .resumable)
            #expect(folder.journalNames.count == 1)
        }
    }

    @Test func `a file that isn't regular, or an unusable URL, is wrong input`() async throws {
        let folder = try UploadFolder(Self.bytes)
        let client = TransferEngine()
        for (path, url) in [("/dev/null", "http://127.0.0.1:1/"), (folder.source.string, "ftp://127.0.0.1/x")] {
            do throws(TransferError) {
                _ = try await client.upload(client.content(of: .init(path)), folder.request(url))
                Issue.record("uploaded \(path)")
            } catch {
                #expect(error.disposition == .invalidInput)
            }
        }
    }
}
