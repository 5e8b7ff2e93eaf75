import Foundation
import HTTPSemantics
import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Downloads that leave nothing behind.
@Suite(.timeLimit(.minutes(5))) struct EphemeralDownloadTests {
    private static let resource = Resource(size: 300_000)

    private func download(
        _ folder: Folder,
        expecting digest: [UInt8]? = nil,
        _ respond: @escaping @Sendable (ReceivedRequest) -> [Step],
        onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
    ) async throws -> Attempted {
        try await TransferClientTests.download(
            expecting: digest,
            into: folder,
            respond,
            configure: { configuration in
                configuration.keepsUnfinished = false
                configuration.retry.maximumAttempts = 2
                // Checkpoints and journals are still written.
                configuration.checkpointBytes = .kibibytes(16)
            },
            onEvent: onEvent
        ).done
    }

    @Test func `within a download everything resumes`() async throws {
        let folder = try Folder()
        let done = try await download(folder) { request in
            request.ordinal < 4 ? Self.resource.serve(request, upTo: 60_000) : Self.resource.serve(request)
        }
        #expect(done.resumedAt == [60_000, 90_000, 120_000, 150_000])
        #expect(folder.file == Self.resource.content)
        #expect(folder.names == ["file.bin"])
    }

    @Test func `a download that gives up removes its files`() async throws {
        let folder = try Folder()
        let seen = Mutex<Set<String>>([])
        let respond: @Sendable (ReceivedRequest) -> [Step] = { request in
            request.ordinal == 0 ? Self.resource.serve(request, upTo: 200_000) : []
        }
        let done = try await download(folder, respond) { _ in seen.withLock { $0.formUnion(folder.names) } }
        guard case .gaveUp = done.error else {
            Issue.record("\(done.result)")
            return
        }
        #expect(folder.names.isEmpty)
        #expect(seen.withLock { $0 }.contains(".file.bin.squall-part"))
    }

    @Test func `a download that is cancelled removes what it has, also of earlier ones, and not the file`() async throws
    {
        let (_, folder, _) = try await TransferClientTests.download {
            Self.resource.serve($0, interruptedAfter: 200_000)
        } configure: {
            $0.retry.maximumAttempts = 1
        }
        #expect(folder.names == [".file.bin.squall-journal", ".file.bin.squall-part"])
        try folder.write([1, 2, 3], at: folder.destination.string)
        let running = Mutex<Task<Attempted, any Error>?>(nil)
        let task = Task {
            try await download(folder, { Self.resource.serve($0, upTo: 10_000) }) { event in
                if case .retrying = event { running.withLock { $0?.cancel() } }
            }
        }
        running.withLock { $0 = task }
        let done = try await task.value
        #expect(done.events.first == .started(completed: 200_000))
        #expect(done.error == .cancelled)
        #expect(folder.names == ["file.bin"])
        #expect(folder.file == [1, 2, 3])
    }

    @Test func `a wrong file is removed, and the message names no place`() async throws {
        let folder = try Folder()
        let digest = [UInt8](repeating: 1, count: 32)
        let done = try await download(folder, expecting: digest) { Self.resource.serve($0) }
        #expect(
            done.error == .digestMismatch(.caller, expected: digest, actual: Self.resource.sha256, file: "")
        )
        #expect(done.error?.description.contains("lies in") == false)
        #expect(folder.names.isEmpty)
    }

    @Test func `a file whose digest is missing is removed, too`() async throws {
        let folder = try Folder()
        let digest = try #require(ReprDigest(sha256: [UInt8](repeating: 1, count: 32))).headerValue
        var other = Self.resource
        other.entityTag = "\"v2\""
        let respond: @Sendable (ReceivedRequest) -> [Step] = { [other] request in
            request.ordinal == 0
                ? [Self.resource.full(["Repr-Digest: \(digest)"]), .send(Self.resource.content)] : other.serve(request)
        }
        let done = try await download(folder, respond)
        #expect(done.error == .digestMissing(file: ""))
        #expect(folder.names.isEmpty)
    }
}
