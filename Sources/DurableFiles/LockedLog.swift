import Synchronization
import SystemPackage

/// A log of records in a file that one open value has at a time, in this process or another. A record is on the disk when
/// `append` or `replace` returns. One call at a time.
///
/// A failure leaves it unknown which of the last records are on the disk, so the value refuses to append from then on;
/// `replace` begins a fresh file.
public final class LockedLog: Sendable {
    /// Where the log is.
    public let path: FilePath
    private let format: RecordLog
    private let files: any FileSystem
    private let isPrivate: Bool
    private let state: Mutex<State>

    private struct State {
        var file: any OpenFile
        /// Where the next record goes; 0 before the header is written.
        var end: Int64 = 0
        /// Whether bytes that are no records follow there.
        var hasTail = false
        /// The first failure of an append.
        var failure: FileError?
    }

    private init(_ path: FilePath, _ format: RecordLog, _ file: any OpenFile, isPrivate: Bool, in files: any FileSystem)
    {
        self.path = path
        self.format = format
        self.files = files
        self.isPrivate = isPrivate
        state = Mutex(State(file: file))
    }

    /// Opens the log at a path and locks it; makes an empty file where there is none, for the owner alone if it `isPrivate`.
    ///
    /// - Throws: a `wouldBlock` of `flock` when somebody else has it, and the errors of the file system.
    public static func open(
        _ path: FilePath,
        _ format: RecordLog,
        isPrivate: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> LockedLog {
        let file = try LockedFile.open(path, isPrivate: isPrivate, in: files)
        return LockedLog(path, format, file, isPrivate: isPrivate, in: files)
    }

    /// Reads the log. What a crash tore off at its end is overwritten by the next record.
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

    /// The bytes that were read, written or appended: 0 for a log that is still to begin.
    public var size: Int64 { state.withLock { $0.end } }

    /// Whether the file has no bytes at all, not even such as can't be read.
    public var isEmpty: Bool {
        get throws(FileError) { try state.withLock { $0.file }.size() == 0 }
    }

    /// Appends a record, and brings it to the disk. The first record of an empty log begins it.
    public func append(_ record: RecordLog.Record) throws(FileError) {
        let (file, end, hasTail, failure) = state.withLock { ($0.file, $0.end, $0.hasTail, $0.failure) }
        if let failure { throw failure }
        let bytes = end == 0 ? format.encoded([record]) : record.encoded
        do throws(FileError) {
            // A torn record may be longer than the new one: its rest must not look like a record.
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

    /// Puts a log of these records in the place of this one in one step: after a crash at any moment there is either. The
    /// name is on the disk as well when it returns.
    public func replace(with records: [RecordLog.Record]) throws(FileError) {
        let bytes = format.encoded(records)
        let file = try AtomicReplacement.replace(path, with: bytes, isPrivate: isPrivate, isLocked: true, in: files)
        let old = state.withLock { state in
            defer { state = State(file: file, end: Int64(bytes.count)) }
            return state.file
        }
        old.close()
    }

    /// Removes the file. Nothing may be called after it but `close()`.
    public func remove() throws(FileError) { try files.remove(path) }

    /// Closes the file, and gives the lock up. To be called once, as the last.
    public func close() { state.withLock { $0.file }.close() }
}

/// Files that one open value has at a time.
public enum LockedFile {
    /// So often the file is looked for again when it was renamed or removed between its opening and its locking.
    private static let mostTries = 100

    /// Opens the file at a path and locks it; makes an empty one where there is none, for the owner alone if it `isPrivate`.
    ///
    /// - Throws: a `wouldBlock` of `flock` when somebody else has it, and the errors of the file system.
    public static func open(
        _ path: FilePath,
        isPrivate: Bool = false,
        in files: any FileSystem
    ) throws(FileError) -> any OpenFile {
        for _ in 0..<mostTries {
            guard let file = try openOrCreate(path, isPrivate, files) else { continue }
            do throws(FileError) {
                try file.lock()
                if try file.hasName(path) { return file }
            } catch {
                file.close()
                throw error
            }
            file.close()
        }
        throw FileError(call: "flock", path: path, errno: .wouldBlock)
    }

    /// `nil` when the file came or went meanwhile.
    private static func openOrCreate(
        _ path: FilePath,
        _ isPrivate: Bool,
        _ files: any FileSystem
    ) throws(FileError) -> (any OpenFile)? {
        let isThere = try files.kind(of: path) != nil
        do throws(FileError) {
            return try files.open(path, isThere ? .existing : isPrivate ? .creatingPrivately : .creating)
        } catch {
            guard error.errno == (isThere ? .noSuchFileOrDirectory : .fileExists) else { throw error }
            return nil
        }
    }
}
