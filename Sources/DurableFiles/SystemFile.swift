import Glibc
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage

/// An open file of the operating system.
final class SystemFile: OpenFile {
    private let path: FilePath
    private let descriptor: SystemPackage.FileDescriptor
    /// Reads through the same descriptor, and closes it.
    private let handle: NIOFileHandle
    /// The error of an earlier sync.
    private let failure = Mutex<FileError?>(nil)

    private let calls: SynchronizingCalls

    /// Takes over `descriptor`.
    init(_ descriptor: SystemPackage.FileDescriptor, _ path: FilePath, _ calls: SynchronizingCalls = .system) {
        self.calls = calls
        self.descriptor = descriptor
        self.path = path
        handle = NIOFileHandle(_deprecatedTakingOwnershipOfDescriptor: descriptor.rawValue)
    }

    deinit {
        if handle.isOpen { try? handle.close() }
    }

    func isRegular() throws(FileError) -> Bool {
        try FileError.naming("fstat", path) { try descriptor.stat().type == .regular }
    }

    /// Throws when another user may have chosen the contents, as `FileOpening.own` says.
    func checkOwner() throws(FileError) {
        let folder = path.removingLastComponent()
        let (status, owner) = try FileError.naming("fstat", path) {
            (try descriptor.stat(), try (folder.isEmpty ? "." : folder).stat().userID)
        }
        guard [UserID(rawValue: geteuid()), UserID(rawValue: 0), owner].contains(status.userID) else {
            throw FileError(call: "fstat", path: path, errno: .notPermitted)
        }
        guard status.linkCount <= 1 else { throw FileError(call: "fstat", path: path, errno: .tooManyLinks) }
    }

    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError) {
        try FileError.naming("pwrite", path) { _ = try descriptor.writeAll(toAbsoluteOffset: offset, bytes) }
    }

    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8] {
        try FileError.naming("pread", path) {
            let buffer = try NonBlockingFileIO(threadPool: SystemFiles.threads).read(
                fileHandle: handle,
                fromOffset: offset,
                byteCount: count,
                allocator: ByteBufferAllocator(),
                eventLoop: MultiThreadedEventLoopGroup.singleton.any()
            ).wait()
            return Array(buffer.readableBytesView)
        }
    }

    func size() throws(FileError) -> Int64 {
        try FileError.naming("fstat", path) { try descriptor.stat().size }
    }

    func resize(to size: Int64) throws(FileError) {
        try FileError.naming("ftruncate", path) { try descriptor.resize(to: size) }
    }

    func synchronizeData() throws(FileError) {
        if let failure = failure.withLock({ $0 }) { throw failure }
        do throws(FileError) {
            try FileError.repeating("fdatasync", path) { calls.synchronizeData(descriptor.rawValue) }
        } catch {
            failure.withLock { $0 = error }
            throw error
        }
    }

    func dropCache() throws(FileError) {
        let code = posix_fadvise(descriptor.rawValue, 0, 0, POSIX_FADV_DONTNEED)
        guard code == 0 else { throw FileError(call: "posix_fadvise", path: path, errno: Errno(rawValue: code)) }
    }

    func hasName(_ path: FilePath) throws(FileError) -> Bool {
        let mine = try FileError.naming("fstat", path) { try descriptor.stat() }
        guard let named = try? path.stat(followTargetSymlink: false) else { return false }
        return named.inode == mine.inode && named.deviceID == mine.deviceID
    }

    func copyPermissions(of path: FilePath) throws(FileError) {
        let permissions = try FileError.naming("stat", path) { try path.stat(followTargetSymlink: false).permissions }
        // Without setuid and setgid: the new file has another owner and other content.
        let shared = permissions.rawValue & 0o777
        try FileError.repeating("fchmod", self.path) { fchmod(descriptor.rawValue, shared) }
    }

    func lock() throws(FileError) {
        try FileError.repeating("flock", path) { flock(descriptor.rawValue, LOCK_EX | LOCK_NB) }
    }

    func close() {
        // A failure loses nothing: important data was synced before.
        try? handle.close()
    }
}
