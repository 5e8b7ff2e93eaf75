import Foundation
import Synchronization
import TestStreams
import Testing
import TransferClient
import TransferProtocol

/// Damage to a partial file between two runs.
@Suite(.timeLimit(.minutes(5))) struct DamageTests {
    private let resource = Resource(size: 300_000)

    /// The damaged positions of a file of four blocks, and the ranges fetched again.
    @Test(arguments: [
        ([0], ["0-1048575"]), ([2_500_000], ["2097152-3145727"]), ([1_048_576, 2_000_000], ["1048576-2097151"]),
        ([5, 3_400_000], ["0-1048575", "3145728-3499999"]),
    ])
    func `of a damaged file only the damaged blocks are fetched again`(places: [Int], ranges: [String]) async throws {
        let resource = Resource(size: 4_000_000)
        let folder = try Folder()
        try await Script { resource.serve($0, interruptedAfter: 3_500_000) }.serve { server in
            let request = DownloadRequest(url: server.url())
            _ = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            var part = try #require(folder.bytes(folder.part))
            #expect(part.count == 3_500_000)
            for place in places { part[place] ^= 1 }
            try folder.write(part, at: folder.part)
            let before = server.requests.count
            let done = await attempt(request, to: folder.destination)
            #expect(done.summary?.sha256 == resource.sha256)
            #expect(folder.file == resource.content)
            #expect(done.transientFailures.contains(.receivedBytesDamaged))
            #expect(done.restarts.isEmpty)
            let requested = server.requests.dropFirst(before).compactMap { $0.fields["range"]?.dropFirst(6) }.map(
                String.init
            )
            #expect(requested.filter { !$0.hasSuffix("-") } == ranges)
        }
    }

    @Test func `a block that stays damaged truncates the received bytes there, and the rest is fetched`() async throws {
        let folder = try Folder()
        let served = Mutex(Resource(size: 4_000_000))
        try await Script { request in
            served.withLock { $0.serve(request, interruptedAfter: 3_500_000) }
        }.serve { server in
            let request = DownloadRequest(url: server.url())
            _ = await attempt(request, to: folder.destination) { $0.retry.maximumAttempts = 1 }
            // The server changes one byte under the same tag, and the disk another.
            served.withLock { $0.content[1_100_000] ^= 1 }
            var part = try #require(folder.bytes(folder.part))
            part[1_200_000] ^= 1
            try folder.write(part, at: folder.part)
            let before = server.requests.count
            let done = await attempt(request, to: folder.destination)
            #expect(done.summary != nil)
            #expect(folder.file == served.withLock { $0.content })
            #expect(
                server.requests.dropFirst(before).compactMap { $0.fields["range"] }
                    == ["bytes=3434464-", "bytes=1048576-2097151", "bytes=983040-"]
            )
        }
    }

    @Test func `a complete file without a validator that wasn't put in its place isn't fetched again`() async throws {
        let folder = try Folder()
        var untagged = resource
        untagged.entityTag = nil
        let received = untagged
        try await Script { received.serve($0) }.serve { server in
            let request = DownloadRequest(url: server.url())
            // A folder replaces the destination meanwhile, so the last step fails.
            let first = await attempt(request, to: folder.destination) {
                $0.progressInterval = .zero
            } onEvent: { event in
                if case .progress = event {
                    try? FileManager.default.createDirectory(
                        atPath: folder.destination.string,
                        withIntermediateDirectories: true
                    )
                }
            }
            #expect(first.error != nil)
            try FileManager.default.removeItem(atPath: folder.destination.string)
            let done = await attempt(request, to: folder.destination)
            #expect(done.summary?.bytesRecovered == Int64(received.content.count))
            #expect(server.requests.count == 1)
            #expect(folder.file == received.content)
        }
    }
}
