import DurableFiles
import SystemPackage
import TransferProtocol

/// What an earlier run left behind.
enum PartialFileRemains: Sendable {
    /// Nothing.
    case nothing
    /// A prefix that the journal promises, and where it comes from.
    case prefix(JournalSource, length: Int64)
    /// The same, from another URL than the one that is asked now.
    case elsewhere(JournalSource, length: Int64)
    /// Bytes that can't be used.
    case unusable(DownloadRestartReason)
}

extension PartialFile {
    /// The format of a journal.
    static let format = RecordLog(magic: Journal.magic, version: Journal.version)

    /// Opens and locks the partial file of a destination, and finds what its journal promises for `url`.
    ///
    /// `blockSize` is that of a new journal: a power of two.
    static func open(
        _ paths: PartialFilePaths,
        for url: String,
        blockSize: Int64 = BlockHashes.smallestBlock,
        in files: any FileSystem,
        worker: FileWorker
    ) async throws(DownloadError) -> (PartialFile, PartialFileRemains) {
        let file = try await worker.run { () throws(DownloadError) in
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
        do {
            return (file, try await worker.run { () throws(DownloadError) in try file.restore(for: url) })
        } catch {
            await file.close()
            throw error
        }
    }

    private static func locked(
        _ paths: PartialFilePaths,
        _ files: any FileSystem
    ) throws(DownloadError) -> (any OpenFile, LockedLog) {
        if let kind = try FileCall.run({ () throws(FileError) in try files.kind(of: paths.data) }), kind != .regular {
            throw .invalidDestination(paths.destination.string, "“\(paths.data)” is no regular file; remove it")
        }
        let data = try FileCall.run { () throws(FileError) in try LockedFile.open(paths.data, in: files) }
        do throws(FileError) {
            return (data, try LockedLog.open(paths.journal, format, in: files))
        } catch {
            // Who has the journal is about to finish; the empty file that was made for nothing goes.
            if (try? data.size()) == 0 { try? files.remove(paths.data) }
            data.close()
            throw DownloadError(error)
        }
    }
}
