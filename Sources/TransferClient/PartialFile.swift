import Crypto
import Synchronization
import SystemPackage
import TransferProtocol

/// The file that a download grows in, and the journal that tells how much of it can be trusted.
///
/// Both lie beside the destination, so that the last step is a rename. Both are locked as long as this value is open,
/// the partial file first. Bytes are written first, brought to the disk, and only then promised by the journal; a crash
/// at any moment leaves a journal whose promises hold.
///
/// One task writes at a time; a checkpoint may run beside it.
final class PartialFile: Sendable {
    let paths: PartialFilePaths
    private let worker: FileWorker
    private let data: FileDescriptor
    private let journal: FileDescriptor
    private let contents = Mutex(Contents())

    private struct Contents {
        var length: Int64 = 0
        var hasher = SHA256()
        /// Where the next record of the journal goes.
        var journalEnd: Int64 = 0
        /// The length that the journal promises.
        var promised: Int64 = 0
        /// Whether there are bytes of an earlier run that can't be used, and that nothing has taken the place of.
        var isLeft = false
    }

    /// Takes over two open descriptors, both locked.
    init(paths: PartialFilePaths, worker: FileWorker, data: FileDescriptor, journal: FileDescriptor) {
        self.paths = paths
        self.worker = worker
        self.data = data
        self.journal = journal
    }

    /// How many bytes are held.
    var length: Int64 { contents.withLock { $0.length } }

    /// How many bytes the journal doesn't promise yet.
    var unpromised: Int64 { contents.withLock { $0.length - $0.promised } }

    /// The SHA-256 of the bytes that are held.
    var sha256: [UInt8] { contents.withLock { Array($0.hasher.finalize()) } }

    /// Whether there are bytes of an earlier run that can't be used, and that nothing has taken the place of.
    var isLeft: Bool { contents.withLock { $0.isLeft } }

    /// Leaves what an earlier run has left as it is, until `startOver`.
    func leave() { contents.withLock { $0.isLeft = true } }

    /// Keeps the first `length` bytes, of which `hasher` has seen all, and a journal of `journalEnd` good bytes.
    func keep(length: Int64, hasher: SHA256, journalEnd: Int64) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.run("ftruncate", paths.data) { try data.resize(to: length) }
            try FileCall.run("ftruncate", paths.journal) { try journal.resize(to: journalEnd) }
            contents.withLock {
                $0 = Contents(length: length, hasher: hasher, journalEnd: journalEnd, promised: length)
            }
        }
    }

    /// Throws away what is held, and notes where the bytes to come are from, before any of them is written.
    func startOver(_ source: JournalSource) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.run("ftruncate", paths.data) { try data.resize(to: 0) }
            // An old promise must not outlive the bytes it was made for, so the old journal goes before the new bytes.
            try FileCall.run("ftruncate", paths.journal) { try journal.resize(to: 0) }
            contents.withLock { $0 = Contents() }
            try record(Journal.header + JournalRecord.started(source).encoded)
        }
    }

    /// Notes that more is known of the source.
    func learn(_ source: JournalSource) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try record(JournalRecord.learned(source).encoded)
        }
    }

    /// Appends bytes. They are promised by a later checkpoint.
    func append(_ bytes: [UInt8]) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            let offset = length
            try FileCall.run("pwrite", paths.data) { _ = try data.writeAll(toAbsoluteOffset: offset, bytes) }
            contents.withLock {
                $0.length = offset + Int64(bytes.count)
                $0.hasher.update(data: bytes)
            }
        }
    }

    /// Brings the bytes that are held to the disk, and promises them. Bytes appended meanwhile are left to the next.
    func checkpoint() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            let (length, hasher, promised) = contents.withLock { ($0.length, $0.hasher, $0.promised) }
            guard length > promised,
                let checkpoint = JournalCheckpoint(length: length, sha256: Array(hasher.finalize()))
            else { return }
            try FileCall.synchronizeData(data, paths.data)
            try record(JournalRecord.checkpoint(checkpoint).encoded)
            contents.withLock { $0.promised = length }
        }
    }

    /// Puts the complete file in its place. Nothing may be called after it but `close()`.
    func finish() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.synchronize(data, paths.data)
            // The download may have taken long: something else may be in its place by now.
            try PartialFilePaths.checkReplaceable(paths.destination, followingLinks: false)
        }
        try await worker.rename(paths.data, to: paths.destination)
        try await worker.run { [folder = paths.folder] () throws(DownloadError) in
            let directory = try FileCall.run("open", folder) {
                try FileDescriptor.open(folder, .readOnly, options: [.directory, .closeOnExec])
            }
            let synchronized = Result { () throws(DownloadError) in try FileCall.synchronize(directory, folder) }
            try FileCall.run("close", folder) { try directory.close() }
            try synchronized.get()
        }
        try await worker.remove(paths.journal)
    }

    /// Moves the complete file aside, which is a wrong one, in the place of an earlier one. Nothing may be called after it but
    /// `close()`.
    func setAside() async throws(DownloadError) {
        try await worker.rename(paths.data, to: paths.aside)
        try await worker.remove(paths.journal)
    }

    /// Removes both files. Nothing may be called after it but `close()`.
    func discard() async throws(DownloadError) {
        try await worker.remove(paths.data)
        try await worker.remove(paths.journal)
    }

    /// Closes both files, and gives the lock up. To be called once, as the last.
    func close() async {
        // A failed close leaves nothing to do: what counts was brought to the disk before.
        _ = try? await worker.run { [data, journal] () throws(DownloadError) in
            _ = try? journal.close()
            _ = try? data.close()
        }
    }

    /// Appends records to the journal, and brings them to the disk.
    private func record(_ bytes: [UInt8]) throws(DownloadError) {
        let end = contents.withLock { $0.journalEnd }
        try FileCall.run("pwrite", paths.journal) { _ = try journal.writeAll(toAbsoluteOffset: end, bytes) }
        try FileCall.synchronizeData(journal, paths.journal)
        contents.withLock { $0.journalEnd = end + Int64(bytes.count) }
    }
}
