import SystemPackage

/// The file system calls that durability depends on. Tests substitute a simulated disk.
///
/// All calls block, and none follows a symbolic link in the last component of a path. A created, renamed or removed
/// name is durable only after `synchronizeFolder`, the bytes of a file only after `synchronizeData`.
public protocol FileSystem: Sendable {
    /// Opens a regular file.
    func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile
    /// Atomically renames `old` to `new`, both in one file system. If `new` exists, it is replaced, or the call throws
    /// `fileExists`.
    func rename(_ old: FilePath, to new: FilePath, replaces: Bool) throws(FileError)
    /// Removes the name of a file. Throws when there is none.
    func remove(_ path: FilePath) throws(FileError)
    /// Creates a folder with permissions for its owner only. An existing folder isn't an error.
    func makeFolder(_ path: FilePath) throws(FileError)
    /// The names in a folder, in no order, without `.` and `..`.
    func names(in folder: FilePath) throws(FileError) -> [String]
    /// The kind of the file at a path; `nil` when there is none.
    func kind(of path: FilePath) throws(FileError) -> FileKind?
    /// Syncs the names in a folder to the disk.
    func synchronizeFolder(_ path: FilePath) throws(FileError)
}

extension FileSystem {
    /// Atomically renames `old` to `new`, replacing `new` if it exists. Both are in one file system.
    package func rename(_ old: FilePath, to new: FilePath) throws(FileError) {
        try rename(old, to: new, replaces: true)
    }

    /// Creates a folder with permissions for its owner only, and those above it, all with durable names.
    package func makeFolders(_ folder: FilePath) throws(FileError) {
        func synchronize(_ name: FilePath) throws(FileError) {
            let parent = name.removingLastComponent()
            try synchronizeFolder(parent.isEmpty ? "." : parent)
        }
        var missing: [FilePath] = []
        var path = folder
        while !path.isEmpty, try kind(of: path) == nil {
            missing.append(path)
            path = path.removingLastComponent()
        }
        // A run that was killed may have made the folder, and not its name durable.
        try? synchronize(path)
        for path in missing.reversed() {
            try makeFolder(path)
            try synchronize(path)
        }
    }
}

/// The mode in which a file is opened.
public enum FileOpening: Hashable, Sendable {
    /// For reading and writing; the file must not exist.
    case creating
    /// Like `creating`, with permissions for the owner only.
    case creatingPrivately
    /// For reading and writing; it must exist.
    case existing
    /// Like `existing`. The file must belong to this process's user, to root or to the owner of its folder, and have no
    /// other name: no other user has chosen its contents.
    case own
    /// For reading; it must exist.
    case reading
    /// For reading and writing: an unnamed file in the folder at the path, with permissions for the owner only. It
    /// disappears when it is closed.
    case anonymous
}

/// The kind of file that a name refers to.
public enum FileKind: Hashable, Sendable {
    /// A regular file.
    case regular
    /// A folder.
    case folder
    /// A symbolic link, a device, a pipe or a socket.
    case other
}

/// An open regular file. Calls must not overlap.
public protocol OpenFile: Sendable {
    /// Writes all of `bytes` at an offset. When it throws, some of them may have been written.
    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError)
    /// Reads `count` bytes at an offset; fewer only where the file ends.
    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8]
    /// The size in bytes.
    func size() throws(FileError) -> Int64
    /// Truncates the file, or extends it with zeros.
    func resize(to size: Int64) throws(FileError)
    /// Syncs the contents and the size to the disk.
    ///
    /// A failure is final: the kernel may have dropped the pages that it couldn't write, so a second call would succeed
    /// without them. Every later call on this value fails too.
    func synchronizeData() throws(FileError)
    /// Drops cached pages, so that later reads come from the disk: a page that a failed sync of any process left only
    /// in memory is no longer served. Called after `synchronizeData`.
    func dropCache() throws(FileError)
    /// Whether a path refers to this file; a symbolic link isn't followed.
    func hasName(_ path: FilePath) throws(FileError) -> Bool
    /// Copies the permissions of the file at a path.
    func copyPermissions(of path: FilePath) throws(FileError)
    /// Takes an exclusive lock until the file is closed; throws `wouldBlock` when another open file holds it.
    func lock() throws(FileError)
    /// Closes the file. Called once, last; a failure loses nothing that was synced.
    func close()
}

/// A failed file system call.
public struct FileError: Error, Hashable, Sendable {
    /// The name of the call.
    public let call: String
    /// The path that the call was made with.
    public let path: FilePath
    /// The system's error code.
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
