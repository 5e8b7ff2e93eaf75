import DurableFiles
import Synchronization
import SystemPackage
import TransferProtocol

/// The partial file of a download, with the journal of what can be trusted.
///
/// Both are next to the destination, so that the last step is a rename. Both are locked while this value is open, the
/// partial file first. Bytes are written, synced, and only then committed in the journal; after a crash at any moment
/// every commit holds.
///
/// One task writes at a time; a checkpoint may run concurrently.
final class PartialFile: Sendable {
    let paths: PartialFilePaths
    let files: any FileSystem
    let worker: FileWorker
    private let data: any OpenFile
    private let journal: DurableLog
    private let blockSize: Int64
    private let contents: Mutex<Contents>

    /// The maximum size of one read.
    static let maximumReadSize: Int64 = 1 << 20
    /// The journal is rewritten when it exceeds twice its minimum size plus this: 64 KiB.
    private static let journalSlack: Int64 = 64 << 10

    private struct Contents {
        /// The number of received bytes.
        var length: Int64 = 0
        /// The hash of the received bytes: all of them, once an earlier run's have been verified.
        var hasher: PrefixHasher
        /// The current contents of the journal; `nil` when it has none.
        var journal: Journal?
        /// The length that the journal has committed.
        var committed: Int64 = 0
        /// The number of hashes in the journal.
        var journalledHashes = 0
        var journalledBlockSize: Int64
        /// Whether the journal is from an earlier run. After a failed sync it may exist only in the page cache, so it
        /// is replaced before anything is appended.
        var isJournalRecovered = false
        /// Whether reads come from the disk. After a failed sync of an earlier run the page cache may show bytes that
        /// will never be written.
        var isCacheFresh = true
        /// Whether the names in the folder are durable.
        var isNameDurable = false
        /// Whether discarded bytes follow the received ones.
        var hasTail = false
        /// Whether unusable bytes of an earlier run are still there.
        var hasUnusableBytes = false

        init(blockSize: Int64) {
            hasher = PrefixHasher(blockSize: blockSize)
            journalledBlockSize = blockSize
        }
    }

    /// Opens and locks the files at `paths`; `blockSize` is that of a new journal.
    init(_ paths: PartialFilePaths, blockSize: Int64, in files: any FileSystem, _ worker: FileWorker) throws {
        (data, journal) = try Self.locked(paths, files)
        self.paths = paths
        self.files = files
        self.worker = worker
        self.blockSize = blockSize
        contents = Mutex(Contents(blockSize: blockSize))
    }

    /// The number of received bytes.
    var length: Int64 { contents.withLock { $0.length } }

    /// The length that the journal has committed.
    var committed: Int64 { contents.withLock { $0.committed } }

    /// The number of uncommitted bytes.
    var uncommitted: Int64 { contents.withLock { max(0, $0.length - $0.committed) } }

    /// The SHA-256 of the received bytes, once they have been verified.
    var sha256: [UInt8] { contents.withLock { $0.hasher.digest } }

    /// Whether unusable bytes of an earlier run are still there.
    var hasUnusableBytes: Bool { contents.withLock { $0.hasUnusableBytes } }

    // MARK: - What an earlier run left

    /// Decides what can be trusted. Both files stay unchanged until their contents are replaced.
    func restore(for url: String) throws -> RecoveredPartial {
        let size = try data.size()
        contents.withLock { state in
            state.hasUnusableBytes = size > 0
            state.hasTail = size > 0
        }
        let unusable = size > 0 ? RecoveredPartial.unusable(.journalUnusable) : .nothing
        let log: RecordLog.Contents
        switch try journal.read(limit: Journal.maximumSize) {
        case .success(let found): log = found
        case .failure(.newerVersion(let version)):
            throw TransferError.invalidFile(
                paths.destination.string,
                "“\(paths.journal)” is of a newer version of Squall (\(version)); go on with that one, or remove it"
            )
        case .failure: return unusable
        }
        let read: Journal
        do throws(JournalProblem) {
            read = try Journal(records: log.numbered)
        } catch {
            return unusable
        }
        // Without a checkpoint the crash came before the first one: nothing was committed.
        guard let checkpoint = read.trusted(fileSize: size), checkpoint.length > 0 else { return .nothing }
        var blocks = read.blocks.count > 0 ? read.blocks : BlockHashes(blockSize: blockSize)
        blocks.truncate(to: checkpoint.length)
        let promise = Journal(source: read.source, checkpoint: checkpoint, blocks: blocks)
        contents.withLock { state in
            state = Contents(blockSize: blocks.blockSize)
            state.length = checkpoint.length
            state.journal = promise
            state.committed = checkpoint.length
            state.journalledHashes = blocks.count
            state.hasTail = size > checkpoint.length
            state.isJournalRecovered = true
            state.isCacheFresh = false
        }
        let isFromOtherURL = promise.source.url != url
        return .prefix(promise.source, length: checkpoint.length, isFromOtherURL: isFromOtherURL)
    }

    /// Verifies received bytes against the journal, from where the last call stopped.
    ///
    /// - Returns: the first damaged block; `nil` when all bytes are intact. A block ends where the journal has a hash,
    ///   or at the end of the received bytes.
    func verify() async throws(TransferError) -> Range<Int64>? {
        while true {
            let step = try await worker.run { [self] in try verifyBlock() }
            switch step {
            case .damaged(let range): return range
            case .finished: return nil
            case .intact: if Task.isCancelled { throw .cancelled }
            }
        }
    }

    private enum Verified: Sendable {
        case intact
        case damaged(Range<Int64>)
        case finished
    }

    private func verifyBlock() throws -> Verified {
        try dropStaleCache()
        let (before, length, promise) = contents.withLock { ($0.hasher, $0.length, $0.journal) }
        guard before.length < length, let promise, let checkpoint = promise.checkpoints.last else { return .finished }
        var hasher = before
        let start = hasher.length
        let index = Int(start / promise.blocks.blockSize)
        let hasHash = index < promise.blocks.count
        let end = hasHash ? Int64(index + 1) * promise.blocks.blockSize : length
        let expected = hasHash ? Array(promise.blocks[index]) : checkpoint.sha256
        while hasher.length < end {
            let count = Int(min(Self.maximumReadSize, end - hasher.length))
            let piece = try data.read(count, at: hasher.length)
            guard !piece.isEmpty else { return .damaged(start..<end) }
            hasher.update(piece)
        }
        guard hasher.digest == expected else { return .damaged(start..<end) }
        contents.withLock { $0.hasher = hasher }
        return .intact
    }

    /// Makes reads of an earlier run's bytes come from the disk.
    private func dropStaleCache() throws {
        guard !contents.withLock({ $0.isCacheFresh }) else { return }
        try data.synchronizeData()
        try data.dropCache()
        contents.withLock { $0.isCacheFresh = true }
    }

    /// Overwrites damaged bytes. They count once `verify` has accepted them.
    func repair(_ bytes: [UInt8], at offset: Int64) async throws(TransferError) {
        try await worker.run { [self] in try data.write(bytes, at: offset) }
    }

    /// Discards received bytes beyond `length`, the end of the verified ones.
    func truncate(to length: Int64) async throws(TransferError) {
        try await worker.run { [self] in
            let (hasher, source) = contents.withLock { ($0.hasher, $0.journal?.source) }
            guard hasher.length == length, let source,
                let checkpoint = JournalCheckpoint(length: length, sha256: hasher.digest)
            else { preconditionFailure("What is held is cut to what was verified") }
            contents.withLock { state in
                state.length = length
                state.hasTail = true
            }
            try writeJournal(Journal(source: source, checkpoint: checkpoint, blocks: hasher.blocks))
        }
    }

    // MARK: - What arrives

    /// Discards the received bytes and journals the new source before any of its bytes is written.
    func startOver(_ source: JournalSource) async throws(TransferError) {
        try await worker.run { [self] in
            // An old commit must not outlive its bytes, so the old journal goes before the new bytes.
            try writeJournal(Journal(source: source, checkpoint: nil, blocks: BlockHashes(blockSize: blockSize)))
            if contents.withLock({ $0.hasTail || $0.length > 0 }) {
                try data.resize(to: 0)
            }
            contents.withLock { state in
                let (journal, isNameDurable) = (state.journal, state.isNameDurable)
                state = Contents(blockSize: blockSize)
                state.journal = journal
                state.isNameDurable = isNameDurable
            }
        }
    }

    /// Journals updated metadata of the source.
    func updateSource(_ source: JournalSource) async throws(TransferError) {
        try await worker.run { [self] in
            let (old, isOld) = contents.withLock { ($0.journal, $0.isJournalRecovered) }
            guard let old else { return }
            let new = Journal(source: source, checkpoint: old.checkpoints.last, blocks: old.blocks)
            if isOld || isJournalOversized(for: old.blocks) { return try writeJournal(new) }
            try note(.updated(source))
            contents.withLock { $0.journal = new }
        }
    }

    /// Appends bytes. A later checkpoint commits them.
    func append(_ bytes: [UInt8]) async throws(TransferError) {
        try await worker.run { [self] in
            let (offset, hasTail) = contents.withLock { ($0.length, $0.hasTail) }
            if hasTail { try data.resize(to: offset) }
            try data.write(bytes, at: offset)
            contents.withLock { state in
                precondition(state.hasher.length == offset, "What is held is verified before bytes are appended")
                state.length = offset + Int64(bytes.count)
                state.hasTail = false
                state.hasher.update(bytes)
            }
        }
    }

    /// Syncs the received bytes and commits them. Bytes appended meanwhile are left for the next checkpoint.
    func checkpoint() async throws(TransferError) {
        try await worker.run { [self] in
            let (length, hasher, committed, isNameDurable) = contents.withLock {
                ($0.length, $0.hasher, $0.committed, $0.isNameDurable)
            }
            guard hasher.length == length, length > committed,
                let checkpoint = JournalCheckpoint(length: length, sha256: hasher.digest)
            else { return }
            try data.synchronizeData()
            if !isNameDurable { try files.synchronizeFolder(paths.folder) }
            contents.withLock { $0.isNameDurable = true }
            try note(checkpoint, hasher.blocks)
        }
    }

    /// Whether the journal is long enough to be rewritten.
    private func isJournalOversized(for blocks: BlockHashes) -> Bool {
        journal.size > 2 * Int64(blocks.count) * 32 + Self.journalSlack
    }

    /// Commits a length, with the hashes that the journal lacks.
    private func note(_ checkpoint: JournalCheckpoint, _ blocks: BlockHashes) throws {
        let source = contents.withLock { state in
            while state.journalledBlockSize < blocks.blockSize {
                state.journalledBlockSize *= 2
                state.journalledHashes /= 2
            }
            return state.journal?.source
        }
        guard let source else { preconditionFailure("A source is noted before its bytes") }
        let fresh = Journal(source: source, checkpoint: checkpoint, blocks: blocks)
        if contents.withLock({ $0.isJournalRecovered }) || isJournalOversized(for: blocks) {
            return try writeJournal(fresh)
        }
        repeat {
            let part = BlockHashesPart(of: blocks, from: contents.withLock { $0.journalledHashes })
            try note(.checkpoint(checkpoint, part))
            contents.withLock { if let part { $0.journalledHashes = part.end } }
        } while contents.withLock { $0.journalledHashes } < blocks.count
        contents.withLock { state in
            state.journal = fresh
            state.committed = checkpoint.length
        }
    }

    // MARK: - The end

    /// Syncs the complete file and renames it. Only `close()` may be called afterwards. A file at the destination is an
    /// error unless this one `replaces` it.
    ///
    /// The bytes are durable when it returns. So is the name, unless the folder can't be synced, which isn't an error.
    func finish(replaces: Bool) async throws(TransferError) {
        try await worker.run { [self] in
            if contents.withLock({ $0.hasTail }) {
                try data.resize(to: length)
            }
            try data.synchronizeData()
            // The download may have taken long: the destination may have changed.
            switch try files.kind(of: paths.destination) {
            case nil: break
            case .regular:
                try data.copyPermissions(of: paths.destination)
            case .folder, .other:
                try PartialFilePaths.checkReplaceable(paths.destination, followingLinks: false)
                throw TransferError.invalidFile(paths.destination.string, "what has this name now is no regular file")
            }
            try checkName()
            try files.rename(paths.data, to: paths.destination, replaces: replaces)
            try files.synchronizeFolder(paths.folder)
            try? journal.remove()
        }
    }

    /// Throws when the partial file's name refers to another file by now: the rename would move the wrong one.
    private func checkName() throws {
        guard try data.hasName(paths.data) else {
            throw TransferError.invalidFile(
                paths.destination.string,
                "“\(paths.data)” was moved, removed or replaced while it was written"
            )
        }
    }

    /// Moves a complete file with a wrong digest aside, replacing an earlier one. Only `close()` may be called
    /// afterwards.
    func moveAside() async throws(TransferError) {
        try await worker.run { [self] in
            try checkName()
            try files.rename(paths.data, to: paths.mismatch)
            try journal.remove()
        }
    }

    /// Removes both files. Only `close()` may be called afterwards.
    func discard() async throws(TransferError) {
        try await worker.run { [self] in
            try files.remove(paths.data)
            try journal.remove()
        }
    }

    /// Removes all names that this file may have, ignoring errors. Only `close()` may be called afterwards.
    func removeNames() async {
        _ = try? await worker.run { [self] in
            for path in [paths.data, paths.journal, FilePath(paths.journal.string + AtomicReplacement.suffix)] {
                try? files.remove(path)
            }
        }
    }

    /// Closes both files and releases the locks. Called once, last.
    func close() async {
        // A failed close loses nothing: important data was synced before.
        _ = try? await worker.run { [data, journal] in
            journal.close()
            data.close()
        }
    }

    /// The bytes of a received range.
    func bytes(in range: Range<Int64>) async throws(TransferError) -> [UInt8] {
        try await worker.run { [self] in try data.read(range.count, at: range.lowerBound) }
    }

    // MARK: - The journal

    private func note(_ record: JournalRecord) throws {
        try journal.append(RecordLog.Record(record))
    }

    /// Rewrites the journal. A single first record is simply appended.
    private func writeJournal(_ new: Journal) throws {
        let records = new.records.map { RecordLog.Record($0) }
        if journal.size == 0, records.count == 1 {
            try journal.append(records[0])
        } else {
            try journal.replace(with: records)
        }
        contents.withLock { state in
            state.journal = new
            state.isJournalRecovered = false
            state.committed = new.checkpoints.last?.length ?? 0
            state.journalledHashes = new.blocks.count
            state.journalledBlockSize = new.blocks.blockSize
        }
    }
}

extension RecordLog.Record {
    init(_ record: JournalRecord) { self.init(kind: record.kind, payload: record.payload) }
}
