import Synchronization
import SystemPackage

/// An append-only log of records in a file. A record is durable when `append` returns. Calls must not overlap.
///
/// After a failed append it is unknown which of the last records are durable, so every later append throws the same
/// error. `replace` starts a fresh file.
public final class DurableLog: Sendable {
    private let file: any OpenFile
    private let state: Mutex<State>

    private struct State {
        /// The size of the file in bytes.
        var size: Int64
        /// The first failure of an append.
        var failure: FileError?
    }

    private init(file: any OpenFile, size: Int64) {
        self.file = file
        state = Mutex(State(size: size))
    }

    /// Reads the log at a path without changing it.
    ///
    /// A file longer than `limit` bytes counts as foreign.
    public static func read(
        _ path: FilePath,
        _ format: RecordLog,
        limit: Int64,
        in files: any FileSystem
    ) throws(FileError) -> Result<RecordLog.Contents, RecordLog.Problem> {
        let file = try files.open(path, .reading)
        defer { file.close() }
        let size = try file.size()
        guard size <= limit else { return .failure(.foreign) }
        let bytes = try file.read(Int(size), at: 0)
        return Result { () throws(RecordLog.Problem) in try format.read(bytes) }
    }

    /// Atomically replaces the file at a path with a log of these records: after a crash there is either the old file
    /// or the new one. The name is durable when it returns.
    public static func replace(
        _ path: FilePath,
        _ format: RecordLog,
        with records: [RecordLog.Record],
        in files: any FileSystem
    ) throws(FileError) -> DurableLog {
        let bytes = format.encoded(records)
        let file = try AtomicReplacement.replace(path, with: bytes, in: files)
        return DurableLog(file: file, size: Int64(bytes.count))
    }

    /// The size of the file in bytes.
    public var size: Int64 { state.withLock { $0.size } }

    /// Appends a record and makes it durable.
    public func append(_ record: RecordLog.Record) throws(FileError) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
        let bytes = record.encoded
        do throws(FileError) {
            try file.write(bytes, at: size)
            try file.synchronizeData()
            state.withLock { $0.size += Int64(bytes.count) }
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    /// Closes the file. Called once, last.
    public func close() { file.close() }
}

/// Replaces a file atomically.
public enum AtomicReplacement {
    /// The suffix of the temporary file's name.
    public static let suffix = ".new"

    /// Writes `bytes` to a temporary file next to `path`, syncs it, renames it to `path` and syncs the folder. Removes
    /// a temporary file left by an earlier crash.
    ///
    /// When it throws after the rename, a crash may leave the old or the new file at `path`.
    ///
    /// - Parameters:
    ///   - isPrivate: Whether only the owner may open the new file.
    ///   - keepsPermissions: Whether the new file gets the permissions of the old one, which must be there.
    ///   - isLocked: Whether the new file is locked before it gets its name.
    /// - Returns: the new file, open for reading and writing.
    public static func replace(
        _ path: FilePath,
        with bytes: [UInt8],
        isPrivate: Bool = false,
        keepsPermissions: Bool = false,
        isLocked: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> any OpenFile {
        let beside = FilePath(path.string + suffix)
        if try files.kind(of: beside) != nil { try files.remove(beside) }
        let file = try files.open(beside, isPrivate ? .creatingPrivately : .creating)
        do throws(FileError) {
            if keepsPermissions { try file.copyPermissions(of: path) }
            if isLocked { try file.lock() }
            try file.write(bytes, at: 0)
            try file.synchronizeData()
            try files.rename(beside, to: path)
            try files.synchronizeFolder(path.removingLastComponent())
            return file
        } catch {
            file.close()
            throw error
        }
    }
}
