import SimulatedDisk
import SystemPackage
import Testing
import TransferProtocol

@testable import TransferClient

/// The size of a partial file's journal over a long download.
@Suite struct JournalGrowthTests {
    private static let folder = FilePath("/d")
    private static let url = "http://host.example/file"

    private static func source(_ finalURL: String) -> JournalSource {
        JournalSource(url: url, finalURL: finalURL, representation: DownloadRepresentation())
    }

    /// The maximum journal size over repeated calls of `change`, and the length recovered by the next run.
    private func growth(
        times: Int,
        _ change: @escaping @Sendable (PartialFile, Int) async throws(TransferError) -> Void
    ) throws -> (longest: Int64, received: Int64) {
        let disk = SimulatedDisk(seed: 1)
        try disk.makeFolder(Self.folder)
        let executor = SimulatedExecutor(seed: 1)
        let found = executor.run { () async -> Result<(Int64, Int64), TransferError> in
            do throws(TransferError) {
                let paths = try PartialFilePaths(destination: Self.folder.appending("file"))
                func open() async throws(TransferError) -> (PartialFile, RecoveredPartial) {
                    let worker = FileWorker(pool: nil)
                    return try await PartialFile.open(paths, for: Self.url, blockSize: 256, in: disk, worker: worker)
                }
                let (file, _) = try await open()
                try await file.startOver(Self.source(Self.url))
                var longest: Int64 = 0
                for time in 0..<times {
                    try await change(file, time)
                    guard let journal = try? disk.open(paths.journal, .reading), let size = try? journal.size() else {
                        continue
                    }
                    journal.close()
                    longest = max(longest, size)
                }
                await file.close()
                let (again, _) = try await open()
                let received = again.length
                await again.close()
                return .success((longest, received))
            } catch {
                return .failure(error)
            }
        }
        let (longest, received) = try #require(found).get()
        return (longest, received)
    }

    /// 64 KiB, twice the 32 bytes of 7 hashes, and a last record.
    @Test func `a journal is rewritten before it grows with the number of checkpoints`() throws {
        let (longest, received) = try growth(times: 2_000) { (file, time) throws(TransferError) in
            try await file.append([UInt8(truncatingIfNeeded: time)])
            try await file.checkpoint()
        }
        #expect((60_000...66_200).contains(longest))
        #expect(received == 2_000)
    }

    /// Mirrors with long names alternate: 64 KiB, and a last record with 2 URLs.
    @Test func `a journal is rewritten before it grows with the number of mirrors`() throws {
        let (longest, received) = try growth(times: 100) { (file, time) throws(TransferError) in
            if time == 0 {
                try await file.append([1])
                try await file.checkpoint()
            }
            try await file.updateSource(Self.source(Self.url + String(repeating: "x", count: 7_000 + time % 2)))
        }
        #expect((60_000...73_000).contains(longest))
        #expect(received == 1)
    }
}
