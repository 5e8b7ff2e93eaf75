import SystemPackage

/// The calls to a file system on which durability depends, so that a test can put a simulated disk in its place.
///
/// All calls block. None of them follows a symbolic link at the end of a path. A name that was made, renamed or removed
/// is on the disk for certain only after `synchronizeFolder`, the bytes of a file only after `synchronizeData`.
public protocol FileSystem: Sendable {
    /// Opens a regular file.
    func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile
    /// Puts the file at `old` in the place of `new`, which need not exist, in one step. Both are in one file system.
    func rename(_ old: FilePath, to new: FilePath) throws(FileError)
    /// Removes the name of a file. That there is none is an error.
    func remove(_ path: FilePath) throws(FileError)
    /// Makes a folder that only the owner can open. That there is one is fine.
    func makeFolder(_ path: FilePath) throws(FileError)
    /// The names in a folder, in no order, without `.` and `..`.
    func names(in folder: FilePath) throws(FileError) -> [String]
    /// The kind of what has this name; `nil` when nothing has.
    func kind(of path: FilePath) throws(FileError) -> FileKind?
    /// Brings the names in a folder to the disk.
    func synchronizeFolder(_ path: FilePath) throws(FileError)
}

/// How a file is opened.
public enum FileOpening: Hashable, Sendable {
    /// For reading and writing; there must be none yet.
    case creating
    /// The same, and nobody but the owner can open it.
    case creatingPrivately
    /// For reading and writing; it must exist.
    case existing
    /// For reading; it must exist.
    case reading
    /// For reading and writing: a file without a name, in the folder at the path. Nobody but the owner can open it, and it is
    /// gone when it is closed.
    case anonymous
}

/// What a name can stand for.
public enum FileKind: Hashable, Sendable {
    /// A regular file.
    case regular
    /// A folder.
    case folder
    /// A symbolic link, a device, a pipe or a socket.
    case other
}

/// A regular file that is open. One call at a time.
public protocol OpenFile: Sendable {
    /// Writes all of `bytes` at an offset. When it throws, any part of them may have been written.
    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError)
    /// Reads `count` bytes at an offset; fewer only where the file ends.
    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8]
    /// The size in bytes.
    func size() throws(FileError) -> Int64
    /// Cuts the file off, or extends it with zeros.
    func resize(to size: Int64) throws(FileError)
    /// Brings the bytes and the size to the disk.
    ///
    /// A failure is final: the system may have dropped the bytes that it couldn't write, and a second call would succeed
    /// without them. So each later call on this value fails too.
    func synchronizeData() throws(FileError)
    /// Has later reads come from the disk, as far as the system knows how: bytes that a failed synchronization, of whatever process,
    /// left in memory alone aren't shown any more. To be called after `synchronizeData`.
    func forgetCache() throws(FileError)
    /// Whether a path names this very file; no link at its end is followed.
    func hasName(_ path: FilePath) throws(FileError) -> Bool
    /// Gives the file the permissions of the file at a path.
    func takePermissions(of path: FilePath) throws(FileError)
    /// Locks the file for as long as it is open; `wouldBlock` when another open file holds the lock.
    func lock() throws(FileError)
    /// Closes the file. To be called once, as the last; nothing that counts is lost when it fails.
    func close()
}

/// A call to the file system that failed.
public struct FileError: Error, Hashable, Sendable {
    /// The name of the call.
    public let call: String
    /// The path that it was about.
    public let path: FilePath
    /// The error of the system.
    public let errno: Errno

    /// Makes the error of a call.
    public init(call: String, path: FilePath, errno: Errno) {
        self.call = call
        self.path = path
        self.errno = errno
    }
}

extension FileError: CustomStringConvertible {
    /// The call, the path and the error, on one line.
    public var description: String { "\(call) “\(path)”: \(errno), errno \(errno.rawValue)" }
}
