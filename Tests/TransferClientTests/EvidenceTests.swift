import Foundation
import NIOPosix
import Synchronization
import SystemPackage
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Doubts about received bytes: their source, how long they are kept, and what isn't waited for.
@Suite(.timeLimit(.minutes(5))) struct EvidenceTests {
    private static let resource = Resource(size: 300_000)

    /// The server's only validator is a date, and its range of another file has none.
    @Test func `a part without a date is joined to dated bytes only where it repeats some of them`() async throws {
        var dated = Self.resource
        dated.entityTag = nil
        dated.lastModified = "Sun, 06 Nov 1994 08:49:30 GMT"
        let other = Resource(size: 300_000, seed: 5).content
        let honest = Self.resource.content
        let (done, folder, requests) = try await download { [dated] request in
            guard let start = request.rangeStart else {
                return dated.serve(request, upTo: request.ordinal == 0 ? 100_000 : 300_000)
            }
            let fields = ["Content-Range: bytes \(start)-299999/300000", "Content-Length: \(300_000 - start)"]
            return [.head(206, fields), .send(Array(other[start...]))]
        }
        #expect(folder.file == honest)
        #expect(done.restarts == [.rangeUnusable(.overlapDiffers)])
        #expect(requests.map(\.rangeStart) == [nil, 50_000, nil])
    }

    @Test func `a part without a date that repeats the right bytes is used`() async throws {
        var dated = Self.resource
        dated.entityTag = nil
        dated.lastModified = "Sun, 06 Nov 1994 08:49:30 GMT"
        let content = Self.resource.content
        let (done, folder, requests) = try await download { [dated] request in
            guard let start = request.rangeStart else { return dated.serve(request, upTo: 100_000) }
            let fields = ["Content-Range: bytes \(start)-299999/300000", "Content-Length: \(300_000 - start)"]
            return [.head(206, fields), .send(Array(content[start...]))]
        }
        #expect(folder.file == content)
        #expect(done.restarts.isEmpty)
        #expect(requests.map(\.rangeStart) == [nil, 50_000])
    }

    /// The confirmation request gets another length. The last step then fails.
    @Test func `a contradiction that was proved is remembered by the next run`() async throws {
        let folder = try Folder()
        let blocked = folder.destination.string
        try await Script { request in
            guard request.method == "HEAD" else { return Self.resource.serve(request) }
            try? FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: true)
            return [.head(200, ["ETag: \"v2\"", "Content-Length: 300001"])]
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            let first = await attempt(request, to: folder.destination) { $0.lateDigestInterval = .zero }
            #expect(first.error?.disposition == .invalidInput)
            try FileManager.default.removeItem(atPath: blocked)
            let done = await attempt(request, to: folder.destination)
            #expect(done.summary?.bytesRecovered == 300_000)
            #expect(done.summary?.connections == 0)
            #expect(done.summary?.proof == DownloadProof.none(.contradicted))
        }
    }

    /// Only the end of the connection marks the length, and the last step fails.
    @Test(arguments: ["\"v1\"", nil])
    func `a complete file of unknown length is remembered as such`(entityTag: String?) async throws {
        let folder = try Folder()
        let blocked = folder.destination.string
        let fields = entityTag.map { ["ETag: \($0)"] } ?? []
        try await Script { _ in [.head(200, fields), .send(Self.resource.content)] }.serve { server in
            let request = DownloadRequest(url: server.url())
            let first = await attempt(request, to: folder.destination) {
                $0.progressInterval = .zero
            } onEvent: { event in
                guard case .progress = event else { return }
                try? FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: true)
            }
            #expect(first.error?.disposition == .invalidInput)
            try FileManager.default.removeItem(atPath: blocked)
            let done = await attempt(request, to: folder.destination)
            #expect(done.summary?.connections == 0)
            #expect(done.summary?.proof == DownloadProof.none(.lengthUnknown))
            #expect(folder.file == Self.resource.content)
        }
    }

    /// The only file thread is blocked until the server has received the request.
    @Test func `the rest is requested while the recovered bytes are still being compared with the journal`()
        async throws
    {
        let folder = try Folder()
        let threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
        let requested = DispatchSemaphore(value: 0)
        let wasInTime = Mutex<Bool?>(nil)
        try await Script { request in
            if request.ordinal >= 2 { requested.signal() }
            return Self.resource.serve(request, interruptedAfter: 200_000)
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            _ = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            let client = TransferEngine(threadPool: threads)
            let done = try await client.download(request, to: folder.destination) { event in
                guard case .started(completed: 200_000, _, _) = event else { return }
                threads.submit { _ in
                    // Bounded, so that a client that waits for it fails instead of hanging.
                    let result = requested.wait(timeout: .now() + 20)
                    wasInTime.withLock { $0 = result == .success }
                }
            }
            #expect(wasInTime.withLock { $0 } == true)
            #expect(done.resumptions == 1)
            #expect(folder.file == Self.resource.content)
        }
        try await threads.shutdownGracefully()
    }
}
