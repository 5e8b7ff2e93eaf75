import Crypto
import NIOPosix
import SystemPackage
import TransferProtocol

/// What an earlier run left behind.
enum PartialFileRemains: Sendable {
    /// Nothing.
    case nothing
    /// A prefix that can be trusted, and where it comes from.
    case prefix(JournalSource, length: Int64)
    /// The same, from another URL than the one that is asked now.
    case elsewhere(JournalSource, length: Int64)
    /// Bytes that can't be used.
    case unusable(DownloadRestartReason)
}

extension PartialFile {
    /// Opens and locks the partial file of a destination, and keeps of it what its journal promises for `url`.
    ///
    /// Where the destination is a link, the download goes to where it leads, and the partial file lies there.
    static func open(
        _ destination: FilePath,
        for url: String,
        worker: FileWorker
    ) async throws(DownloadError) -> (PartialFile, PartialFileRemains) {
        try await worker.run { () throws(DownloadError) in
            try PartialFilePaths.checkReplaceable(destination, followingLinks: true)
        }
        let target = try await worker.target(of: destination)
        let file = try await locked(PartialFilePaths(destination: target), worker)
        do {
            return (file, try await file.restore(for: url, worker))
        } catch {
            await file.close()
            throw error
        }
    }

    private static func locked(
        _ paths: PartialFilePaths,
        _ worker: FileWorker
    ) async throws(DownloadError) -> PartialFile {
        let data = try await worker.run { () throws(DownloadError) in try lockedData(paths) }
        do throws(DownloadError) {
            let journal = try await worker.run { () throws(DownloadError) in try lockedJournal(paths) }
            return PartialFile(paths: paths, worker: worker, data: data, journal: journal)
        } catch {
            // Who has the journal is about to finish; the empty file that was made for nothing goes.
            if case .locked = error, (try? data.stat())?.size == 0 { try? await worker.remove(paths.data) }
            _ = try? data.close()
            throw error
        }
    }

    private static func lockedData(
        _ paths: PartialFilePaths
    ) throws(DownloadError) -> SystemPackage.FileDescriptor {
        while true {
            let data = try openOrCreate(paths.data)
            do throws(DownloadError) {
                try FileCall.lock(data, paths.data)
                // Between the opening and the locking another download may have finished, and renamed the file.
                guard try isStill(data, at: paths.data) else {
                    _ = try? data.close()
                    continue
                }
                let mine = try FileCall.run("fstat", paths.data) { try data.stat() }
                guard mine.type == .regular else {
                    throw .invalidDestination(paths.destination.string, "“\(paths.data)” is no regular file; remove it")
                }
                return data
            } catch {
                _ = try? data.close()
                throw error
            }
        }
    }

    /// Opens and locks the journal, which a download that ends removes only after the partial file has gone.
    private static func lockedJournal(
        _ paths: PartialFilePaths
    ) throws(DownloadError) -> SystemPackage.FileDescriptor {
        while true {
            let journal = try openOrCreate(paths.journal)
            do throws(DownloadError) {
                try FileCall.lock(journal, paths.journal)
                if try isStill(journal, at: paths.journal) { return journal }
            } catch {
                _ = try? journal.close()
                throw error
            }
            _ = try? journal.close()
        }
    }

    /// Whether an open file is the one that the path names now.
    private static func isStill(
        _ file: SystemPackage.FileDescriptor,
        at path: FilePath
    ) throws(DownloadError) -> Bool {
        let mine = try FileCall.run("fstat", path) { try file.stat() }
        guard let named = try? path.stat(followTargetSymlink: false) else { return false }
        return named.inode == mine.inode && named.deviceID == mine.deviceID
    }

    private static func openOrCreate(_ path: FilePath) throws(DownloadError) -> SystemPackage.FileDescriptor {
        try FileCall.run("open", path) {
            try SystemPackage.FileDescriptor.open(
                path,
                .readWrite,
                options: [.create, .noFollow, .closeOnExec, .nonBlocking],
                permissions: [.ownerReadWrite, .groupReadWrite, .otherReadWrite]
            )
        }
    }

    /// Decides what of the two files can be trusted, and cuts off the rest. Where that is nothing, both stay as they are until
    /// a response has come that takes their place.
    private func restore(for url: String, _ worker: FileWorker) async throws(DownloadError) -> PartialFileRemains {
        let reader = FileReader(pool: worker.pool)
        let size = try await reader.size(paths.data)
        var remains = size > 0 ? PartialFileRemains.unusable(.journalUnusable) : .nothing
        if let journal = try await readJournal(reader) {
            if let checkpoint = journal.trusted(fileSize: size) {
                var hasher = SHA256()
                try await reader.read(paths.data, 0..<checkpoint.length) { hasher.update(data: $0) }
                if Array(hasher.finalize()) == checkpoint.sha256 {
                    try await keep(
                        length: checkpoint.length,
                        hasher: hasher,
                        journalEnd: Int64(journal.validLength)
                    )
                    let isElsewhere = journal.source.url != url
                    return isElsewhere
                        ? .elsewhere(journal.source, length: checkpoint.length)
                        : .prefix(journal.source, length: checkpoint.length)
                }
            } else {
                // A crash before the first checkpoint: the bytes were never promised.
                remains = .nothing
            }
        }
        if size > 0 { leave() }
        return remains
    }

    private func readJournal(_ reader: FileReader) async throws(DownloadError) -> Journal? {
        let size = try await reader.size(paths.journal)
        guard size <= Journal.longest else { return nil }
        var bytes: [UInt8] = []
        try await reader.read(paths.journal, 0..<size) { bytes += $0 }
        do throws(JournalProblem) {
            return try Journal(bytes)
        } catch {
            guard case .unknownVersion(let version) = error, version > Journal.version else { return nil }
            throw .invalidDestination(
                paths.destination.string,
                "“\(paths.journal)” is of a newer version of Squall (\(version)); go on with that one, or remove it"
            )
        }
    }

    /// The bytes of a range that is held.
    func bytes(in range: Range<Int64>, pool: NIOThreadPool) async throws(DownloadError) -> [UInt8] {
        var bytes: [UInt8] = []
        try await FileReader(pool: pool).read(paths.data, range) { bytes += $0 }
        return bytes
    }
}
