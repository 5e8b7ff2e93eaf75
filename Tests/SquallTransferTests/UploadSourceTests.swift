import Foundation
import SquallTransfer
import Synchronization
import TestStreams
import Testing
import Units

@testable import FaultProfile

/// Library uploads of bytes in memory and of streams.
@Suite(.timeLimit(.minutes(5))) struct UploadSourceTests {
    private static let content = testBytes(1_000_000)
    private static let cut = FaultKind.cut(Cut(position: .every(ByteCount(150_000)), how: .reset))

    /// A session that tells progress as often as it does by itself.
    private func session(_ folder: Folder, _ change: (inout TransferConfiguration) -> Void = { _ in })
        -> TransferSession
    {
        folder.session(progressInterval: nil, change)
    }

    private func names(_ path: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }

    private func failure(of transfer: UploadTransfer) async -> TransferError? {
        await #expect(throws: TransferError.self) { try await transfer.value }
    }

    /// The content as a stream, optionally with an error at its end.
    private func chunks(failing error: (any Error)? = nil) -> AsyncThrowingStream<[UInt8], any Error> {
        AsyncThrowingStream { continuation in
            for start in stride(from: 0, to: Self.content.count, by: 90_000) {
                continuation.yield(Array(Self.content[start..<min(Self.content.count, start + 90_000)]))
            }
            continuation.finish(throwing: error)
        }
    }

    @Test func `bytes in memory and streams of all types arrive complete through cuts`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try served.write(Self.content, to: "source.bin")
        try await withOrigin(served) { origin, host, port in
            try await withFaults([Self.cut], on: .upstream, before: host, port) { url in
                let session = session(mine)
                let quiet = AsyncStream<[UInt8]> { continuation in
                    continuation.yield(Self.content)
                    continuation.finish()
                }
                let (download, _) = try await session.bytes(for: TransferRequest(origin + "/source.bin"))
                let transfers = [
                    ("memory", session.upload(for: TransferRequest(url + "/memory"), from: Self.content)),
                    ("throwing", session.upload(for: TransferRequest(url + "/throwing"), from: chunks())),
                    ("quiet", session.upload(for: TransferRequest(url + "/quiet"), from: quiet)),
                    ("copy", session.upload(for: TransferRequest(url + "/copy"), from: download.chunks)),
                ]
                for (name, transfer) in transfers {
                    let result = try await transfer.value
                    #expect(result.bytes == 1_000_000)
                    #expect(result.resumptions >= 3)
                    #expect(transfer.status.completedBytes == 1_000_000)
                    #expect(served.bytes(of: name) == Self.content)
                }
                #expect(names(mine.file("state")).isEmpty)
            }
        }
    }

    @Test func `a literal is a path or bytes, as it looks`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { origin, _, _ in
            let session = session(mine)
            _ = try await session.upload(for: TransferRequest(origin + "/some"), from: [1, 2, 3]).value
            _ = try await session.upload(for: TransferRequest(origin + "/empty"), from: []).value
            #expect(served.bytes(of: "some") == [1, 2, 3])
            #expect(served.bytes(of: "empty") == [])
            #expect(await failure(of: session.upload(for: TransferRequest(origin), from: "/none"))?.code == .fileSystem)
        }
    }

    /// Uploads through a connection that is cut, and one that stalls, and pauses there.
    private func paused(_ url: String, _ start: (TransferRequest) -> UploadTransfer) async throws -> ResumptionToken {
        let transfer = start(TransferRequest(url + "/copy.bin"))
        for try await status in transfer where status.resumptions > 0 { break }
        return try #require(await transfer.pause())
    }

    private static let terminators = [
        FaultKind.cut(Cut(position: .inTurn([ByteCount(300_000)]), how: .reset)),
        FaultKind.stall(Stall(at: ByteCount(400_000), duration: .seconds(600))),
    ]

    @Test(arguments: [false, true])
    func `a paused upload resumes with the same bytes, in another session`(isStream: Bool) async throws {
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { origin, host, port in
            let token = try await withFaults(Self.terminators, on: .upstream, before: host, port) { url in
                try await paused(url) { request in
                    isStream
                        ? session(mine).upload(for: request, from: chunks())
                        : session(mine).upload(for: request, from: Self.content)
                }
            }
            #expect(token.file.isEmpty)
            #expect(token.sha256?.count == 32)
            #expect(names(mine.file("state")).count == 1)
            let read = try ResumptionToken(token.text)
            #expect(read == token)
            let other = TransferSession()
            let alone = #expect(throws: TransferError.self) { try other.resumeUpload(token) }
            #expect(alone?.code == .invalidToken && alone?.message.contains("resumeUpload(_:from:)") == true)
            let wrong = await failure(of: try other.resumeUpload(token, from: Array(Self.content.reversed())))
            #expect(wrong?.code == .invalidRequest && wrong?.obstacle == .wrongInput)
            let transfer =
                try isStream
                ? other.resumeUpload(token, from: chunks()) : other.resumeUpload(token, from: Self.content)
            transfer.cancel()
            #expect(await failure(of: transfer)?.code == .cancelled)
            // The proxy is gone: with another URL the upload restarts.
            let result = try await other.resumeUpload(token, from: Self.content) { $0.url = origin + "/copy.bin" }.value
            #expect(result.bytes == 1_000_000 && result.resumptions == 0)
            #expect(served.bytes(of: "copy.bin") == Self.content)
        }
    }

    @Test func `an upload from memory that gave up resumes from the token of its error`() async throws {
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { _, host, port in
            let offsets: [Int64] = [200_000, 200_000, 200_000, 1, 1, 1, 1, 50_000_000]
            let cut = FaultKind.cut(Cut(position: .inTurn(offsets.map { ByteCount($0) }), how: .reset))
            try await withFaults([cut], on: .upstream, before: host, port) { url in
                let impatient = session(mine) { configuration in
                    configuration.maximumAttempts = 3
                    configuration.maximumBackoff = .milliseconds(1)
                }
                let request = TransferRequest(url + "/copy.bin")
                let error = await failure(of: impatient.upload(for: request, from: Self.content))
                #expect(error?.code == .gaveUp)
                let token = try #require(error?.token)
                let result = try await TransferSession().resumeUpload(token, from: Self.content).value
                #expect(result.resumptions >= 1)
                #expect(served.bytes(of: "copy.bin") == Self.content)
            }
        }
    }

    @Test func `tokens are for what they were made of`() async throws {
        let mine = try Folder()
        try mine.write([1], to: "file.bin")
        let session = session(mine) { $0.maximumAttempts = 1 }
        let request = TransferRequest("http://127.0.0.1:1/")
        let file = try #require(await failure(of: session.upload(for: request, from: mine.file("file.bin")))?.token)
        let memory = try #require(await failure(of: session.upload(for: request, from: [1]))?.token)
        #expect(memory.file.isEmpty)
        for error in [
            #expect(throws: TransferError.self) { try session.resumeUpload(file, from: [1]) },
            #expect(throws: TransferError.self) { try session.resumeUpload(memory) },
            #expect(throws: TransferError.self) { try session.resumeDownload(memory) },
        ] {
            #expect(error?.code == .invalidToken)
        }
    }

    @Test func `a stream that throws or is too long ends the transfer before anything is sent`() async throws {
        struct Torn: Error {}
        let (served, mine) = (try Folder(), try Folder())
        try await withOrigin(served) { origin, _, _ in
            let request = TransferRequest(origin + "/copy.bin")
            var error = await failure(of: session(mine).upload(for: request, from: chunks(failing: Torn())))
            #expect(error?.code == .streamFailed && error?.message.contains("Torn") == true)
            #expect(error?.token == nil && error?.obstacle == .nothingKept)
            error = await failure(
                of: session(mine) { $0.maximumStreamBytes = 999_999 }.upload(for: request, from: chunks())
            )
            #expect(error?.code == .tooLong && error?.token == nil && error?.obstacle == .wrongInput)
            #expect(served.bytes(of: "copy.bin") == nil)
            #expect(names(served.file(".squall-uploads")) == ["lock"])
            #expect(names(mine.file("state")).isEmpty)
            _ = try await session(mine) { $0.maximumStreamBytes = 1_000_000 }.upload(for: request, from: chunks()).value
        }
    }

    @Test func `a request that can't be sent fails before its stream is read`() async throws {
        let mine = try Folder()
        let isRead = Mutex(false)
        let chunks = AsyncStream<[UInt8]> {
            isRead.withLock { $0 = true }
            return nil
        }
        var error = await failure(of: session(mine).upload(for: TransferRequest("ftp://127.0.0.1/"), from: chunks))
        #expect(error?.code == .invalidURL)
        var request = TransferRequest("http://127.0.0.1:1/")
        request.sha256 = [1]
        error = await failure(of: session(mine).upload(for: request, from: chunks))
        #expect(error?.code == .invalidRequest && error?.obstacle == .wrongInput)
        #expect(!isRead.withLock { $0 })
    }

    @Test func `a stream that is waited for is paused at once, and nothing is kept`() async throws {
        let mine = try Folder()
        let (chunks, giver) = AsyncStream<[UInt8]>.makeStream()
        giver.yield([1, 2, 3])
        for delay in [Duration.zero, .seconds(600)] {
            var request = TransferRequest("http://127.0.0.1:1/")
            request.delay = delay
            let transfer = session(mine).upload(for: request, from: chunks)
            #expect(await transfer.pause() == nil)
            #expect(transfer.status.phase == .paused)
            #expect(await failure(of: transfer)?.obstacle == .nothingKept)
        }
        #expect(names(mine.file("state")).isEmpty)
    }
}
