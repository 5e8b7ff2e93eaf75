import Synchronization
import SystemPackage

/// An append-only log of records in a file. A record is durable when `append` or `replace` returns. Calls must not
/// overlap.
///
/// After a failed append it is unknown which of the last records are durable, so every later append throws the same
/// error. `replace` starts a fresh file.
public final class DurableLog: Sendable {
    /// The path of the log.
    public let path: FilePath
    private let format: RecordLog
    private let files: any FileSystem
    private let isPrivate: Bool
    private let isLocked: Bool
    private let state: Mutex<State>

    private struct State {
        var file: any OpenFile
        /// The offset of the next record; 0 before the header is written.
        var end: Int64 = 0
        /// Whether bytes of an incomplete record follow `end`.
        var hasTail = false
        /// The first failure of an append.
        var failure: FileError?
    }

    private init(
        _ path: FilePath,
        _ format: RecordLog,
        _ state: State,
        isPrivate: Bool,
        isLocked: Bool,
        in files: any FileSystem
    ) {
        self.path = path
        self.format = format
        self.files = files
        self.isPrivate = isPrivate
        self.isLocked = isLocked
        self.state = Mutex(state)
    }

    /// Opens and locks the log at a path: one open value owns it at a time, across processes. Creates an empty file if
    /// there is none, with permissions for the owner only if `isPrivate`. An existing one must be `FileOpening.own`.
    ///
    /// - Throws: `wouldBlock` from `flock` when the log is already locked, and errors of the file system.
    public static func openLocked(
        _ path: FilePath,
        _ format: RecordLog,
        isPrivate: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> DurableLog {
        let file = try LockedFile.open(path, isPrivate: isPrivate, isOwn: true, in: files)
        return DurableLog(path, format, State(file: file), isPrivate: isPrivate, isLocked: true, in: files)
    }

    /// Opens the log at a path for reading only. It isn't locked.
    public static func openReading(
        _ path: FilePath,
        _ format: RecordLog,
        in files: any FileSystem
    ) throws(FileError) -> DurableLog {
        let file = try files.open(path, .reading)
        return DurableLog(path, format, State(file: file), isPrivate: false, isLocked: false, in: files)
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
        let log = try openReading(path, format, in: files)
        defer { log.close() }
        return try log.read(limit: limit)
    }

    /// Replaces the file at a path with a log of these records, like `replace(with:)`. The log isn't locked.
    public static func replace(
        _ path: FilePath,
        _ format: RecordLog,
        with records: [RecordLog.Record],
        in files: any FileSystem
    ) throws(FileError) -> DurableLog {
        let bytes = format.encoded(records)
        let file = try AtomicReplacement.replace(path, with: bytes, in: files)
        let state = State(file: file, end: Int64(bytes.count))
        return DurableLog(path, format, state, isPrivate: false, isLocked: false, in: files)
    }

    /// Reads the log. The next record overwrites a record that a crash left incomplete at the end.
    ///
    /// A file longer than `limit` bytes counts as foreign, and so does an empty one.
    public func read(limit: Int64) throws(FileError) -> Result<RecordLog.Contents, RecordLog.Problem> {
        let file = state.withLock { $0.file }
        let size = try file.size()
        state.withLock { $0.hasTail = size > 0 }
        guard size <= limit else { return .failure(.foreign) }
        let bytes = try file.read(Int(size), at: 0)
        do throws(RecordLog.Problem) {
            let contents = try format.read(bytes)
            state.withLock { state in
                state.end = Int64(contents.validLength)
                state.hasTail = size > state.end
            }
            return .success(contents)
        } catch {
            return .failure(error)
        }
    }

    /// The bytes read, written or appended so far; 0 for an empty log.
    public var size: Int64 { state.withLock { $0.end } }

    /// Whether the file has no bytes at all, not even unreadable ones.
    public var isEmpty: Bool {
        get throws(FileError) { try state.withLock { $0.file }.size() == 0 }
    }

    /// Appends a record and makes it durable. The first record of an empty log also writes the header.
    public func append(_ record: RecordLog.Record) throws(FileError) {
        let (file, end, hasTail, failure) = state.withLock { ($0.file, $0.end, $0.hasTail, $0.failure) }
        if let failure { throw failure }
        let bytes = end == 0 ? format.encoded([record]) : record.encoded
        do throws(FileError) {
            // An incomplete record may be longer than the new one; its remaining bytes must not look like a record.
            if hasTail { try file.resize(to: end) }
            try file.write(bytes, at: end)
            try file.synchronizeData()
            state.withLock { state in
                state.end = end + Int64(bytes.count)
                state.hasTail = false
            }
        } catch {
            state.withLock { $0.failure = error }
            throw error
        }
    }

    /// Atomically replaces this log with one of these records: after a crash there is either the old file or the new
    /// one. The name is durable when it returns.
    public func replace(with records: [RecordLog.Record]) throws(FileError) {
        let bytes = format.encoded(records)
        let file = try AtomicReplacement.replace(
            path,
            with: bytes,
            isPrivate: isPrivate,
            isLocked: isLocked,
            in: files
        )
        let old = state.withLock { state in
            defer { state = State(file: file, end: Int64(bytes.count)) }
            return state.file
        }
        old.close()
    }

    /// Removes the file. Only `close()` may be called afterwards.
    public func remove() throws(FileError) { try files.remove(path) }

    /// Closes the file and releases the lock. Called once, last.
    public func close() { state.withLock { $0.file }.close() }
}
