import Foundation
import Synchronization
import SystemPackage
import Testing
import TransferClient
import TransferProtocol
import Units

@Suite(.timeLimit(.minutes(5))) struct CrashTests {
    /// The state of the folder at a moment: what a killed process leaves to the next.
    private struct Wreck: Sendable {
        var part: [UInt8]
        var journal: [UInt8]
    }

    @Test func `from whatever a killed run leaves behind the next one makes the right file`() async throws {
        let resource = Resource(size: 400_000)
        let folder = try TemporaryFolder()
        let wrecks = Mutex<[Wreck]>([])
        try await Script { request in
            // Small pieces and cuts, so that there are many states to be caught in.
            let (head, body) = resource.answer(request)
            return [head]
                + stride(from: 0, to: min(body.count, 120_000), by: 8_000).map {
                    .send(Array(body[$0..<min($0 + 8_000, body.count)]))
                }
        }.serve { server in
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination) {
                $0.checkpointBytes = ByteCount(16_000)
                $0.progressInterval = .zero
            } onEvent: { _ in
                // The journal first: what it promises then must be in the data that is read after it.
                guard let journal = folder.bytes(folder.journal), let part = folder.bytes(folder.part) else { return }
                wrecks.withLock { $0.append(Wreck(part: part, journal: journal)) }
            }
            #expect(done.summary?.sha256 == resource.sha256)
        }
        let caught = wrecks.withLock { $0 }
        #expect(caught.count > 10)
        var generator = SeededGenerator(seed: 11)
        for var wreck in caught.shuffled(using: &generator).prefix(20) {
            // A crash may also tear the last record, and leave bytes beyond every promise.
            switch generator.next() % 3 {
            case 0: wreck.journal.removeLast(min(wreck.journal.count, Int(generator.next() % 49)))
            case 1: wreck.part += [UInt8](repeating: 0xEE, count: Int(generator.next() % 10_000))
            default: break
            }
            try await resume(wreck, resource)
        }
    }

    private func resume(_ wreck: Wreck, _ resource: Resource) async throws {
        let folder = try TemporaryFolder()
        try folder.write(wreck.part, to: folder.part)
        try await Script { resource.serve($0) }.serve { server in
            // The URL is part of the journal, and the port of this server is another one: put the new URL in place.
            var journal: [UInt8] = []
            if let old = try? Journal(wreck.journal) {
                let source = JournalSource(
                    url: server.url(),
                    finalURL: server.url(),
                    representation: old.source.representation
                )
                journal = Journal.header + JournalRecord.started(source).encoded
                for checkpoint in old.checkpoints { journal += JournalRecord.checkpoint(checkpoint).encoded }
                journal += wreck.journal[old.validLength...]
            }
            try folder.write(journal, to: folder.journal)
            let done = await attempt(DownloadRequest(url: server.url()), to: folder.destination)
            #expect(done.summary?.sha256 == resource.sha256)
            #expect(folder.file == resource.content)
            #expect(folder.names == ["file.bin"])
            if let promised = try? Journal(journal).trusted(fileSize: Int64(wreck.part.count)) {
                #expect(done.summary?.heldAtStart == promised.length)
                #expect(done.restarts.isEmpty)
            }
        }
    }
}
