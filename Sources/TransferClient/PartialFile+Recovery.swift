import Digests
import DurableFiles
import SystemPackage
import TransferProtocol

/// The state recovered from an earlier run.
enum RecoveredPartial: Sendable {
    /// Nothing.
    case nothing
    /// A committed prefix and its source, which may be another URL than the current one.
    case prefix(JournalSource, length: Int64, isFromOtherURL: Bool)
    /// Unusable bytes.
    case unusable(RestartReason)
}

extension PartialFilePaths {
    /// Makes the file at the destination durable, as `PartialFile.finish()` does, if its bytes on the disk have this
    /// SHA-256: an earlier run may have crashed between the rename and the sync of the folder.
    ///
    /// - Returns: its length; `nil` if there is no such file, or if it can't be synced or read.
    func synchronizeDestination(
        withSHA256 expected: [UInt8],
        in files: any FileSystem,
        _ worker: FileWorker
    ) async throws(TransferError) -> Int64? {
        let opened = try await worker.run { () -> (any OpenFile)? in
            guard (try? files.kind(of: destination)) == .regular else { return nil }
            return try? files.open(destination, .reading)
        }
        guard let opened else { return nil }
        defer { opened.close() }
        let isSynchronized = try await worker.run {
            // The page cache may show bytes that a failed sync of another process left only there.
            (try? opened.synchronizeData()) != nil && (try? opened.dropCache()) != nil
        }
        guard isSynchronized else { return nil }
        var hasher = SHA256()
        var length: Int64 = 0
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            let offset = length
            let size = Int(PartialFile.maximumReadSize)
            let piece = try await worker.run { (try? opened.read(size, at: offset)) ?? [] }
            guard !piece.isEmpty else { break }
            hasher.update(piece)
            length += Int64(piece.count)
        }
        guard hasher.finalize() == expected else { return nil }
        try await worker.run { try files.synchronizeFolder(folder) }
        return length
    }
}

extension PartialFile {
    /// The format of the journal.
    static let format = RecordLog(magic: Journal.magic, version: Journal.version)

    /// Opens and locks the partial file of a destination, and recovers what its journal committed for `url`.
    ///
    /// `blockSize` is the block size of a new journal: a power of two.
    static func open(
        _ paths: PartialFilePaths,
        for url: String,
        blockSize: Int64 = BlockHashes.initialBlockSize,
        in files: any FileSystem,
        worker: FileWorker
    ) async throws(TransferError) -> (PartialFile, RecoveredPartial) {
        let file = try await worker.run { try PartialFile(paths, blockSize: blockSize, in: files, worker) }
        do throws(TransferError) {
            return (file, try await worker.run { try file.restore(for: url) })
        } catch {
            await file.close()
            throw error
        }
    }

    static func locked(
        _ paths: PartialFilePaths,
        _ files: any FileSystem
    ) throws -> (any OpenFile, DurableLog) {
        if let kind = try files.kind(of: paths.data), kind != .regular {
            throw TransferError.invalidFile(paths.destination.string, "“\(paths.data)” is no regular file; remove it")
        }
        let data = try LockedFile.open(paths.data, isOwn: true, in: files)
        do {
            return (data, try DurableLog.openLocked(paths.journal, format, in: files))
        } catch {
            // The other lock holder is about to finish; removes the empty file that was just created.
            if (try? data.size()) == 0 { try? files.remove(paths.data) }
            data.close()
            throw error
        }
    }
}
