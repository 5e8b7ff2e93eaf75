import DurableFiles
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
    private let files: any FileSystem
    private let worker: FileWorker
    private let data: any OpenFile
    private let journal: LockedLog
    private let blockSize: Int64
    private let contents: Mutex<Contents>

    /// The most bytes of one read.
    private static let longestRead: Int64 = 1 << 20
    /// The journal is written anew when it is longer than twice what it has to be, and this: 64 KiB.
    private static let journalSlack: Int64 = 64 << 10

    private struct Contents {
        /// The bytes that are held.
        var length: Int64 = 0
        /// What was hashed of them: all, once what an earlier run left has been compared with the journal.
        var hasher: PrefixHasher
        /// What the journal says; `nil` when it says nothing.
        var journal: Journal?
        /// The length that the journal promises.
        var promised: Int64 = 0
        /// The hashes that the journal has, in its blocks.
        var noted = 0
        var notedBlockSize: Int64
        /// Whether the journal is of an earlier run. What it shows may be in the system's memory alone, after a call that
        /// failed, so a fresh one takes its place before anything is added.
        var isJournalOld = false
        /// Whether reads show what is on the disk, and not what an earlier run left in memory alone. Its last synchronization
        /// may have failed, and the system then shows bytes that it doesn't write any more.
        var isSettled = true
        /// Whether the names in the folder are on the disk.
        var isNameSafe = false
        /// Whether bytes that aren't held follow those that are.
        var hasTail = false
        /// Whether there are bytes of an earlier run that can't be used, and that nothing has taken the place of.
        var isLeft = false

        init(blockSize: Int64) {
            hasher = PrefixHasher(blockSize: blockSize)
            notedBlockSize = blockSize
        }
    }

    /// Takes over an open file and a journal, both locked.
    init(
        paths: PartialFilePaths,
        data: any OpenFile,
        journal: LockedLog,
        blockSize: Int64,
        in files: any FileSystem,
        _ worker: FileWorker
    ) {
        self.paths = paths
        self.files = files
        self.worker = worker
        self.data = data
        self.journal = journal
        self.blockSize = blockSize
        contents = Mutex(Contents(blockSize: blockSize))
    }

    /// How many bytes are held.
    var length: Int64 { contents.withLock { $0.length } }

    /// The length that the journal promises.
    var promised: Int64 { contents.withLock { $0.promised } }

    /// How many bytes the journal doesn't promise yet.
    var unpromised: Int64 { contents.withLock { max(0, $0.length - $0.promised) } }

    /// The SHA-256 of the bytes that are held, once they have been verified.
    var sha256: [UInt8] { contents.withLock { $0.hasher.digest } }

    /// Whether there are bytes of an earlier run that can't be used, and that nothing has taken the place of.
    var isLeft: Bool { contents.withLock { $0.isLeft } }

    // MARK: - What an earlier run left

    /// Decides what of the two files can be trusted. Both stay as they are until something takes the place of what they hold.
    func restore(for url: String) throws(DownloadError) -> PartialFileRemains {
        let size = try FileCall.run { () throws(FileError) in try data.size() }
        contents.withLock { state in
            state.isLeft = size > 0
            state.hasTail = size > 0
        }
        let unusable = size > 0 ? PartialFileRemains.unusable(.journalUnusable) : .nothing
        let log: RecordLog.Contents
        switch try FileCall.run({ () throws(FileError) in try journal.read(limit: Journal.longest) }) {
        case .success(let found): log = found
        case .failure(.newerVersion(let version)):
            throw .invalidDestination(
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
        // Without a checkpoint a crash came before the first, and the bytes were never promised.
        guard let checkpoint = read.trusted(fileSize: size), checkpoint.length > 0 else { return .nothing }
        var blocks = read.blocks.count > 0 ? read.blocks : BlockHashes(blockSize: blockSize)
        blocks.cut(to: checkpoint.length)
        let promise = Journal(source: read.source, checkpoint: checkpoint, blocks: blocks)
        contents.withLock { state in
            state = Contents(blockSize: blocks.blockSize)
            state.length = checkpoint.length
            state.journal = promise
            state.promised = checkpoint.length
            state.noted = blocks.count
            state.hasTail = size > checkpoint.length
            state.isJournalOld = true
            state.isSettled = false
        }
        return promise.source.url == url
            ? .prefix(promise.source, length: checkpoint.length)
            : .elsewhere(promise.source, length: checkpoint.length)
    }

    /// Compares what is held with the journal, from where the last call has stopped.
    ///
    /// - Returns: the first block that isn't as it was promised; `nil` when all is. A block ends where the journal has a
    ///   hash, or with what is held.
    func verify() async throws(DownloadError) -> Range<Int64>? {
        while true {
            let step = try await worker.run { [self] () throws(DownloadError) in try verifyBlock() }
            switch step {
            case .damaged(let range): return range
            case .finished: return nil
            case .sound: if Task.isCancelled { throw .cancelled }
            }
        }
    }

    private enum Verified: Sendable {
        case sound
        case damaged(Range<Int64>)
        case finished
    }

    private func verifyBlock() throws(DownloadError) -> Verified {
        try settle()
        let (before, length, promise) = contents.withLock { ($0.hasher, $0.length, $0.journal) }
        guard before.length < length, let promise, let checkpoint = promise.checkpoints.last else { return .finished }
        var hasher = before
        let start = hasher.length
        let index = Int(start / promise.blocks.blockSize)
        let hasHash = index < promise.blocks.count
        let end = hasHash ? Int64(index + 1) * promise.blocks.blockSize : length
        let expected = hasHash ? Array(promise.blocks[index]) : checkpoint.sha256
        while hasher.length < end {
            let count = Int(min(Self.longestRead, end - hasher.length))
            let piece = try FileCall.run { () throws(FileError) in try data.read(count, at: hasher.length) }
            guard !piece.isEmpty else { return .damaged(start..<end) }
            hasher.update(piece)
        }
        guard hasher.digest == expected else { return .damaged(start..<end) }
        contents.withLock { $0.hasher = hasher }
        return .sound
    }

    /// Has what an earlier run left be read from the disk.
    private func settle() throws(DownloadError) {
        guard !contents.withLock({ $0.isSettled }) else { return }
        try FileCall.run { () throws(FileError) in
            try data.synchronizeData()
            try data.forgetCache()
        }
        contents.withLock { $0.isSettled = true }
    }

    /// Writes bytes in the place of damaged ones that are held. They count once `verify` has found them right.
    func repair(_ bytes: [UInt8], at offset: Int64) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.run { () throws(FileError) in try data.write(bytes, at: offset) }
        }
    }

    /// Gives up what is held beyond `length`, up to where it was verified.
    func cut(to length: Int64) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
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

    /// Throws away what is held, and notes where the bytes to come are from, before any of them is written.
    func startOver(_ source: JournalSource) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            // An old promise must not outlive the bytes it was made for, so the old journal goes before the new bytes.
            try writeJournal(Journal(source: source, checkpoint: nil, blocks: BlockHashes(blockSize: blockSize)))
            if contents.withLock({ $0.hasTail || $0.length > 0 }) {
                try FileCall.run { () throws(FileError) in try data.resize(to: 0) }
            }
            contents.withLock { state in
                let (journal, isNameSafe) = (state.journal, state.isNameSafe)
                state = Contents(blockSize: blockSize)
                state.journal = journal
                state.isNameSafe = isNameSafe
            }
        }
    }

    /// Notes that more is known of the source.
    func learn(_ source: JournalSource) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            let (old, isOld) = contents.withLock { ($0.journal, $0.isJournalOld) }
            guard let old else { return }
            let new = Journal(source: source, checkpoint: old.checkpoints.last, blocks: old.blocks)
            if isOld || isJournalLong(for: old.blocks) { return try writeJournal(new) }
            try note(.learned(source))
            contents.withLock { $0.journal = new }
        }
    }

    /// Appends bytes. They are promised by a later checkpoint.
    func append(_ bytes: [UInt8]) async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            let (offset, hasTail) = contents.withLock { ($0.length, $0.hasTail) }
            try FileCall.run { () throws(FileError) in
                if hasTail { try data.resize(to: offset) }
                try data.write(bytes, at: offset)
            }
            contents.withLock { state in
                precondition(state.hasher.length == offset, "What is held is verified before bytes are appended")
                state.length = offset + Int64(bytes.count)
                state.hasTail = false
                state.hasher.update(bytes)
            }
        }
    }

    /// Brings the bytes that are held to the disk, and promises them. Bytes appended meanwhile are left to the next.
    func checkpoint() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            let (length, hasher, promised, isNameSafe) = contents.withLock {
                ($0.length, $0.hasher, $0.promised, $0.isNameSafe)
            }
            guard hasher.length == length, length > promised,
                let checkpoint = JournalCheckpoint(length: length, sha256: hasher.digest)
            else { return }
            try FileCall.run { () throws(FileError) in
                try data.synchronizeData()
                if !isNameSafe { try files.synchronizeFolder(paths.folder) }
            }
            contents.withLock { $0.isNameSafe = true }
            try note(checkpoint, hasher.blocks)
        }
    }

    /// Whether the journal is so much longer than these hashes that it is written anew.
    private func isJournalLong(for blocks: BlockHashes) -> Bool {
        journal.size > 2 * Int64(blocks.count) * 32 + Self.journalSlack
    }

    /// Promises a length, with the hashes that the journal hasn't got yet.
    private func note(_ checkpoint: JournalCheckpoint, _ blocks: BlockHashes) throws(DownloadError) {
        let source = contents.withLock { state in
            while state.notedBlockSize < blocks.blockSize {
                state.notedBlockSize *= 2
                state.noted /= 2
            }
            return state.journal?.source
        }
        guard let source else { preconditionFailure("A source is noted before its bytes") }
        let fresh = Journal(source: source, checkpoint: checkpoint, blocks: blocks)
        if contents.withLock({ $0.isJournalOld }) || isJournalLong(for: blocks) { return try writeJournal(fresh) }
        repeat {
            let part = BlockHashesPart(of: blocks, from: contents.withLock { $0.noted })
            try note(.checkpoint(checkpoint, part))
            contents.withLock { if let part { $0.noted = part.end } }
        } while contents.withLock { $0.noted } < blocks.count
        contents.withLock { state in
            state.journal = fresh
            state.promised = checkpoint.length
        }
    }

    // MARK: - The end

    /// Puts the complete file in its place. Nothing may be called after it but `close()`.
    ///
    /// The bytes are on the disk when it returns. Its name is as well, if the file system does what it is asked: that it
    /// doesn't takes nothing from the file.
    func finish() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            if contents.withLock({ $0.hasTail }) {
                try FileCall.run { () throws(FileError) in try data.resize(to: length) }
            }
            try FileCall.run { () throws(FileError) in try data.synchronizeData() }
            // The download may have taken long: something else may be in its place by now.
            switch try FileCall.run({ () throws(FileError) in try files.kind(of: paths.destination) }) {
            case nil: break
            case .regular:
                try FileCall.run { () throws(FileError) in try data.takePermissions(of: paths.destination) }
            case .folder, .other:
                try PartialFilePaths.checkReplaceable(paths.destination, followingLinks: false)
                throw .invalidDestination(paths.destination.string, "what has this name now is no regular file")
            }
            try checkName()
            try FileCall.run { () throws(FileError) in try files.rename(paths.data, to: paths.destination) }
            try? files.synchronizeFolder(paths.folder)
            try? journal.remove()
        }
    }

    /// Fails when the name of the partial file is another file's by now: what would be renamed isn't what was written.
    private func checkName() throws(DownloadError) {
        guard try FileCall.run({ () throws(FileError) in try data.hasName(paths.data) }) else {
            throw .invalidDestination(
                paths.destination.string,
                "“\(paths.data)” was moved, removed or replaced while it was written"
            )
        }
    }

    /// Moves the complete file aside, which is a wrong one, in the place of an earlier one. Nothing may be called after it but
    /// `close()`.
    func setAside() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try checkName()
            try FileCall.run { () throws(FileError) in
                try files.rename(paths.data, to: paths.aside)
                try journal.remove()
            }
        }
    }

    /// Removes both files. Nothing may be called after it but `close()`.
    func discard() async throws(DownloadError) {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.run { () throws(FileError) in
                try files.remove(paths.data)
                try journal.remove()
            }
        }
    }

    /// Removes all names that this file may have had, as far as it can. Nothing may be called after it but `close()`.
    func removeNames() async {
        _ = try? await worker.run { [self] () throws(DownloadError) in
            for path in [paths.data, paths.journal, FilePath(paths.journal.string + AtomicReplacement.suffix)] {
                try? files.remove(path)
            }
        }
    }

    /// Closes both files, and gives the lock up. To be called once, as the last.
    func close() async {
        // A failed close leaves nothing to do: what counts was brought to the disk before.
        _ = try? await worker.run { [data, journal] () throws(DownloadError) in
            journal.close()
            data.close()
        }
    }

    /// The bytes of a range that is held.
    func bytes(in range: Range<Int64>) async throws(DownloadError) -> [UInt8] {
        try await worker.run { [self] () throws(DownloadError) in
            try FileCall.run { () throws(FileError) in try data.read(range.count, at: range.lowerBound) }
        }
    }

    // MARK: - The journal

    private func note(_ record: JournalRecord) throws(DownloadError) {
        try FileCall.run { () throws(FileError) in try journal.append(RecordLog.Record(record)) }
    }

    /// Writes the journal anew. The first record of an empty one needs no other file for that.
    private func writeJournal(_ new: Journal) throws(DownloadError) {
        let records = new.records.map { RecordLog.Record($0) }
        try FileCall.run { () throws(FileError) in
            if journal.size == 0, records.count == 1 {
                try journal.append(records[0])
            } else {
                try journal.replace(with: records)
            }
        }
        contents.withLock { state in
            state.journal = new
            state.isJournalOld = false
            state.promised = new.checkpoints.last?.length ?? 0
            state.noted = new.blocks.count
            state.notedBlockSize = new.blocks.blockSize
        }
    }
}

extension RecordLog.Record {
    init(_ record: JournalRecord) { self.init(kind: record.kind, payload: record.payload) }
}
