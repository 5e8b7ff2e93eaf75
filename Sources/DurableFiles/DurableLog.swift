import Synchronization
import SystemPackage

/// A log of records in a file. A record is on the disk when `append` returns. One call at a time.
///
/// A failure leaves it unknown which of the last records are on the disk, so the value refuses to append from then on;
/// `replace` begins a fresh file.
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

    /// Reads the log at a path, and changes nothing.
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

    /// Puts a log with these records in the place of what is at a path, in one step: after a crash at any moment there is
    /// either the old file or the new one. The name is on the disk as well when it returns.
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

    /// Appends a record, and brings it to the disk.
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

    /// Closes the file. To be called once, as the last.
    public func close() { file.close() }
}

/// Puts a new file in the place of another in one step.
public enum AtomicReplacement {
    /// The end of the name that the new file has at first.
    public static let suffix = ".new"

    /// Writes `bytes` to a file beside `path`, brings them to the disk, renames the file to `path`, and brings the name to
    /// the disk. A file that an earlier crash left under the first name is removed.
    ///
    /// When it throws after the rename, the file may be at `path` or not after a crash.
    ///
    /// - Parameters:
    ///   - isPrivate: Whether the new file is for the owner alone.
    ///   - isLocked: Whether the new file is locked before it has its name.
    /// - Returns: the new file, open for reading and writing.
    public static func replace(
        _ path: FilePath,
        with bytes: [UInt8],
        isPrivate: Bool = false,
        isLocked: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> any OpenFile {
        let beside = FilePath(path.string + suffix)
        if try files.kind(of: beside) != nil { try files.remove(beside) }
        let file = try files.open(beside, isPrivate ? .creatingPrivately : .creating)
        do throws(FileError) {
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
