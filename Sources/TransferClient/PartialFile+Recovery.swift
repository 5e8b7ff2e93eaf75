import Digests
import DurableFiles
import SystemPackage
import TransferProtocol

/// The state recovered from an earlier run.
enum RecoveredPartial: Sendable {
    /// Nothing.
    case nothing
    /// A committed prefix and its source.
    case prefix(JournalSource, length: Int64)
    /// A committed prefix from another URL than the current one.
    case elsewhere(JournalSource, length: Int64)
    /// Unusable bytes.
    case unusable(RestartReason)
}

extension PartialFile {
    /// The length of the file at the destination, if it has this SHA-256 already.
    func destinationLength(withSHA256 expected: [UInt8]) async throws(TransferError) -> Int64? {
        let opened = try await worker.run { [self] () -> (any OpenFile)? in
            guard (try? files.kind(of: paths.destination)) == .regular else { return nil }
            return try? files.open(paths.destination, .reading)
        }
        guard let opened else { return nil }
        defer { opened.close() }
        var hasher = SHA256()
        var length: Int64 = 0
        while true {
            guard !Task.isCancelled else { throw .cancelled }
            let offset = length
            let piece = try await worker.run { (try? opened.read(Int(Self.maximumReadSize), at: offset)) ?? [] }
            guard !piece.isEmpty else { break }
            hasher.update(piece)
            length += Int64(piece.count)
        }
        return hasher.finalize() == expected ? length : nil
    }

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
        let file = try await worker.run {
            let (data, journal) = try locked(paths, files)
            return PartialFile(
                paths: paths,
                data: data,
                journal: journal,
                blockSize: blockSize,
                in: files,
                worker
            )
        }
        do throws(TransferError) {
            return (file, try await worker.run { try file.restore(for: url) })
        } catch {
            await file.close()
            throw error
        }
    }

    private static func locked(
        _ paths: PartialFilePaths,
        _ files: any FileSystem
    ) throws -> (any OpenFile, DurableLog) {
        if let kind = try files.kind(of: paths.data), kind != .regular {
            throw TransferError.invalidFile(paths.destination.string, "“\(paths.data)” is no regular file; remove it")
        }
        let data = try LockedFile.open(paths.data, in: files)
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
