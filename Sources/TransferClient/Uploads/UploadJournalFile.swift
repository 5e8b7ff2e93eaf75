import Digests
import DurableFiles
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TransferProtocol

/// The journal file of an unfinished upload: `NAME.squall-upload` in a private folder.
///
/// It is locked while this value is open. The name is a digest of the method, the URL and the file's path (or digest
/// and length of other content), so that the same call finds it. It contains the secret upload URL, so its mode is
/// 0600.
///
/// Without a folder there is no file; the state of a running upload is in its `UploadState`.
final class UploadJournalFile: Sendable {
    /// The path; `nil` without a file.
    var path: String? { log?.path.string }
    private let log: DurableLog?
    private let worker: FileWorker
    /// Whether `completionBegan()` was called. Locked during both writing calls, so that the order of `begin` and
    /// `completionBegan` doesn't matter.
    private let hasBegunCompletion = Mutex(false)

    private static let format = RecordLog(magic: UploadJournal.magic, version: UploadJournal.version)

    private init(_ log: DurableLog?, _ worker: FileWorker) {
        self.log = log
        self.worker = worker
    }

    /// The name of the journal of an upload.
    static func name(_ request: UploadRequest, _ source: UploadContent, _ url: TransferURL) -> String {
        let key = "\(request.method.rawValue) \(url.text)\n\(source.key)"
        return "\(SHA256.hash(key.utf8).prefix(16).hexadecimal).squall-upload"
    }

    /// Opens and locks the journal of an upload; creates its folder if missing.
    static func open(
        _ request: UploadRequest,
        _ source: UploadContent,
        _ url: TransferURL,
        _ environment: TransferEnvironment
    ) async throws(TransferError) -> UploadJournalFile {
        let worker = environment.worker
        guard let folder = request.journalFolder else { return UploadJournalFile(nil, worker) }
        let path = folder.appending(name(request, source, url))
        return try await worker.run { [files = environment.files] in
            try files.makeFolders(folder)
            return UploadJournalFile(try DurableLog.openLocked(path, format, isPrivate: true, in: files), worker)
        }
    }

    /// The journal of an earlier upload of `source`; `nil` if there is none or it is unusable. Throws for a journal of
    /// a newer version, or of an unknown dialect, which stays unchanged.
    func read(for source: String) async throws(TransferError) -> UploadJournal? {
        guard let log else { return nil }
        let newer: String
        switch try await worker.run({ try log.read(limit: UploadJournal.maximumSize) }) {
        case .success(let contents):
            switch Result(catching: { () throws(UploadJournalProblem) in try UploadJournal(contents.numbered) }) {
            case .success(let journal):
                // After a kill it may be in the system's memory only, and would be lost with the power.
                try await worker.run { try log.replace(with: contents.records) }
                return journal
            case .failure(.unknownDialect(let name)): newer = name
            case .failure(.damaged): return nil
            }
        case .failure(.newerVersion(let version)): newer = String(version)
        case .failure: return nil
        }
        throw .invalidFile(
            source,
            "“\(log.path)” is of a newer version of Squall (\(newer)); go on with that one, or remove it"
        )
    }

    /// Journals an upload durably, replacing an earlier one.
    ///
    /// `mayBeComplete`: its last bytes may have been sent; an earlier `completionBegan()` has the same effect.
    func begin(_ creation: UploadJournal.Creation, mayBeComplete: Bool = false) async throws(TransferError) {
        guard let log else { return }
        try await worker.run { [self] in
            try hasBegunCompletion.withLock { hasBegun in
                let journal = UploadJournal(creation: creation, mayBeComplete: mayBeComplete || hasBegun)
                try log.replace(with: journal.records.map { RecordLog.Record($0) })
            }
        }
    }

    /// Journals that the last bytes are about to be sent. Without an upload in the journal, `begin` records it with the
    /// next one.
    func completionBegan() async throws(TransferError) {
        guard let log else { return }
        try await worker.run { [self] in
            try hasBegunCompletion.withLock { hasBegun in
                hasBegun = true
                if log.size > 0 { try log.append(RecordLog.Record(.completionBegan)) }
            }
        }
    }

    /// Removes the file.
    func remove() async throws(TransferError) {
        guard let log else { return }
        try await worker.run {
            do throws(FileError) {
                try log.remove()
            } catch {
                // A missing file isn't an error.
                if error.errno != .noSuchFileOrDirectory { throw error }
            }
        }
    }

    /// Closes the file and releases the lock; removes an empty one. Called once, last.
    func close() async {
        guard let log else { return }
        try? await worker.run {
            if (try? log.isEmpty) == true { try? log.remove() }
            log.close()
        }
    }
}

extension RecordLog.Record {
    fileprivate init(_ record: UploadJournal.Record) { self.init(kind: record.kind, payload: record.payload) }
}
