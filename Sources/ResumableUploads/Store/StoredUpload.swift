import Digests
import DurableFiles
import Glibc
import HTTPSemantics
import Synchronization
import SystemPackage
import TransferProtocol

/// One upload on disk. Calls must not overlap.
final class StoredUpload: Sendable {
    static let logSuffix = ".log"
    static let dataSuffix = ".data"
    /// The number of bytes read at a time for a digest.
    private static let pieceBytes = 1 << 20

    let dataName: String
    let logPath: FilePath
    private let dataPath: FilePath
    /// The store outlives its uploads.
    private unowned let store: UploadStore
    private let files: any FileSystem
    private let folder: FilePath
    private let inside: FilePath
    private let state = Mutex(State())

    private struct State {
        var summary: UploadLog.Summary?
        var isDurable = true
        var data: (any OpenFile)?
        var log: DurableLog?
        /// Bytes written.
        var length: Int64 = 0
        /// The hash of these bytes; `nil` if it must be computed from the file.
        var hasher: SHA256?
    }

    init(_ token: UploadToken, in store: UploadStore) {
        self.store = store
        files = store.files
        folder = store.folder
        inside = store.inside
        dataName = token.description + Self.dataSuffix
        dataPath = inside.appending(dataName)
        logPath = inside.appending(token.description + Self.logSuffix)
    }

    /// The metadata of the upload.
    var record: UploadRecord? { state.withLock { $0.summary?.record } }

    func perform(_ command: UploadStoreCommand) -> UploadStoreResult {
        state.withLock { state in
            do {
                switch command {
                case .create(let record, let isDurable): try create(record, isDurable, &state)
                case .append(let bytes, let offset): try append(bytes, offset, &state)
                case .checkpoint(let total): try checkpoint(total, &state)
                case .finish(let digest): return .finished(try finish(&state, expecting: digest))
                case .restore: return try restore(&state)
                case .release: release(&state)
                case .remove: try remove(&state)
                }
                return .done
            } catch {
                return .failed(Failure.storeFailure(error))
            }
        }
    }

    /// Applies a log's contents and restores the files accordingly.
    func adopt(_ summary: UploadLog.Summary) -> UploadStoreResult {
        state.withLock { $0.summary = summary }
        return perform(.restore)
    }

    func release() { state.withLock { release(&$0) } }

    /// Why a command failed.
    private enum Failure: Error {
        /// The file is shorter than its acknowledged length.
        case lost
        /// The file can't be moved to its destination.
        case refused(UploadStoreFailure)

        /// Converts an error of a command.
        static func storeFailure(_ error: any Error) -> UploadStoreFailure {
            switch error {
            case Failure.refused(let failure): failure
            case Failure.lost: .lost
            case let error as FileError: [.noSpace, Errno(rawValue: EDQUOT)].contains(error.errno) ? .noSpace : .disk
            default: .disk
            }
        }
    }

    private func create(_ record: UploadRecord, _ isDurable: Bool, _ state: inout State) throws {
        // Also checked at the end; checking here spares the client a useless upload.
        let target = folder.appending(record.target.name)
        let there = try files.kind(of: target)
        guard holds(record, for: target, there) else { throw Failure.refused(.preconditionFailed) }
        if let there, there != .regular { throw Failure.refused(.notReplaceable) }
        state.isDurable = isDurable
        state.data = try files.open(dataPath, .creating)
        state.hasher = SHA256()
        let summary = UploadLog.Summary(record: record)
        state.summary = summary
        // The log is created last: data without a log is garbage.
        if isDurable { try writeLog(summary, &state) }
    }

    /// Whether the preconditions of an upload hold for the file in place (RFC 9110, section 13.2.2).
    private func holds(_ record: UploadRecord, for target: FilePath, _ there: FileKind?) -> Bool {
        if record.isOnlyNew, there != nil { return false }
        guard let ifMatch = record.ifMatch else { return true }
        let current = there.map { _ in Validators(entityTag: store.entityTag(target), lastModified: nil) }
        return Preconditions([.ifMatch: ifMatch]).outcome(method: .put, current: current) == .proceed
    }

    /// Starts a fresh log. Also makes earlier names in the folder durable.
    private func writeLog(_ summary: UploadLog.Summary, _ state: inout State) throws {
        state.log?.close()
        state.log = nil
        state.log = try DurableLog.replace(logPath, UploadLog.format, with: summary.entries.map(\.record), in: files)
        state.summary = summary
    }

    private func append(_ bytes: [UInt8], _ offset: Int64, _ state: inout State) throws {
        let data = try openData(&state)
        precondition(offset == state.length, "Bytes are appended at the end")
        try data.write(bytes, at: offset)
        state.length += Int64(bytes.count)
        state.hasher?.update(bytes)
    }

    private func checkpoint(_ total: Int64?, _ state: inout State) throws {
        guard var summary = state.summary else { throw Failure.lost }
        let data = try openData(&state)
        try data.synchronizeData()
        summary.length = state.length
        summary.record.length = total
        try note(.checkpoint(length: state.length, total: total), summary, &state)
    }

    /// Appends to the log, or rewrites it when it is closed or long.
    private func note(_ entry: UploadLog.Entry, _ summary: UploadLog.Summary, _ state: inout State) throws {
        guard let log = state.log, log.size < UploadLog.maximumSize else { return try writeLog(summary, &state) }
        try log.append(entry.record)
        state.summary = summary
    }

    private func openData(_ state: inout State) throws -> any OpenFile {
        if let data = state.data { return data }
        let data = try files.open(dataPath, .existing)
        state.data = data
        return data
    }

    // MARK: - The end

    private func finish(_ state: inout State, expecting named: ReprDigest?) throws -> UploadOutcome {
        guard var summary = state.summary else { throw Failure.lost }
        let data = try openData(&state)
        try data.synchronizeData()
        let digest = try digest(&state)
        summary.length = state.length
        summary.record.length = state.length
        var outcome = UploadOutcome(status: .digestMismatch, length: state.length, digest: digest)
        if named ?? summary.record.digest ?? digest == digest {
            outcome = try place(outcome, summary, &state)
        }
        try conclude(outcome, summary, &state)
        if !outcome.isSuccess { try files.remove(dataPath) }
        return outcome
    }

    /// Moves the file to its destination unless the target forbids it. No other upload can change the target meanwhile.
    private func place(
        _ outcome: UploadOutcome,
        _ summary: UploadLog.Summary,
        _ state: inout State
    ) throws -> UploadOutcome {
        let name = summary.record.target.name
        return try store.withTarget(name) {
            let target = folder.appending(name)
            let there = try files.kind(of: target)
            var outcome = outcome
            outcome.status =
                switch there {
                case _ where !holds(summary.record, for: target, there): .preconditionFailed
                case nil: .created
                case .regular: .replaced
                case .some: .notReplaceable
                }
            guard outcome.isSuccess else { return outcome }
            var summary = summary
            summary.finishing = outcome
            if state.isDurable { try note(.finishing(outcome), summary, &state) }
            if there != nil { try openData(&state).copyPermissions(of: target) }
            try files.rename(dataPath, to: target)
            try files.synchronizeFolder(folder)
            return outcome
        }
    }

    /// Logs the outcome and closes the files.
    private func conclude(
        _ outcome: UploadOutcome,
        _ summary: UploadLog.Summary,
        _ state: inout State
    ) throws {
        var summary = summary
        summary.completed = outcome
        if state.isDurable { try note(.completed(outcome), summary, &state) }
        release(&state)
    }

    private func digest(_ state: inout State) throws -> ReprDigest {
        var hasher = state.hasher ?? SHA256()
        if state.hasher == nil {
            let data = try openData(&state)
            var offset: Int64 = 0
            while offset < state.length {
                let count = Int(min(Int64(Self.pieceBytes), state.length - offset))
                let piece = try data.read(count, at: offset)
                guard piece.count == count else { throw Failure.lost }
                hasher.update(piece)
                offset += Int64(count)
            }
            state.hasher = hasher
        }
        guard let digest = ReprDigest(sha256: hasher.finalize()) else {
            preconditionFailure("SHA-256 has 32 bytes")
        }
        return digest
    }

    // MARK: - After a failure or a crash

    /// Returns the files to the last checkpoint. Completes a pending rename.
    private func restore(_ state: inout State) throws -> UploadStoreResult {
        guard let summary = state.summary else { throw Failure.lost }
        release(&state)
        if let outcome = summary.completed {
            // The log may not be durable; a rewritten one is.
            try writeLog(summary, &state)
            release(&state)
            if !outcome.isSuccess, try files.kind(of: dataPath) != nil {
                try files.remove(dataPath)
            }
            return .finished(outcome)
        }
        let isThere = try files.kind(of: dataPath) != nil
        if let outcome = summary.finishing {
            return .finished(try finishAgain(outcome, summary, isThere: isThere, &state))
        }
        guard isThere, try openData(&state).size() >= summary.length else { throw Failure.lost }
        // The log goes first: a failed append may describe bytes that are truncated here.
        try writeLog(summary, &state)
        let data = try openData(&state)
        try data.resize(to: summary.length)
        state.length = summary.length
        state.hasher = summary.length == 0 ? SHA256() : nil
        return .restored(length: summary.length)
    }

    /// Finishes an upload whose rename was pending or done. Another upload may have created the target since.
    private func finishAgain(
        _ noted: UploadOutcome,
        _ summary: UploadLog.Summary,
        isThere: Bool,
        _ state: inout State
    ) throws -> UploadOutcome {
        var outcome = noted
        if isThere {
            if try openData(&state).size() != noted.length { throw Failure.lost }
            outcome = try place(noted, summary, &state)
        } else {
            try writeLog(summary, &state)
            try files.synchronizeFolder(folder)
        }
        var completed = summary
        completed.completed = outcome
        try writeLog(completed, &state)
        release(&state)
        if !outcome.isSuccess { try files.remove(dataPath) }
        return outcome
    }

    private func release(_ state: inout State) {
        state.data?.close()
        state.data = nil
        state.log?.close()
        state.log = nil
    }

    /// Removes the log first: data without a log is garbage.
    private func remove(_ state: inout State) throws {
        release(&state)
        for path in [logPath, dataPath] {
            if try files.kind(of: path) != nil { try files.remove(path) }
        }
        try files.synchronizeFolder(inside)
    }
}
