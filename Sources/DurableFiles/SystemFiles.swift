import FoundationEssentials
import Glibc
import NIOCore
import NIOPosix
import SystemPackage

/// The file system of the operating system.
///
/// Calls that take names, and reads, run on a thread pool and wait for an event loop of SwiftNIO, so no call may be
/// made on an event loop.
public struct SystemFiles: FileSystem {
    /// Runs the calls that would need an unsafe pointer here.
    static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: 4)
        threads.start()
        return threads
    }()

    /// The sync calls; tests count them.
    let calls: SynchronizingCalls

    /// Makes the value; all are alike.
    public init() { calls = .system }

    /// Makes a value with other sync calls.
    init(calls: SynchronizingCalls) { self.calls = calls }

    /// open(2) with O_NOFOLLOW, and with O_CREAT and O_EXCL for a new file; with O_TMPFILE for one without a name.
    ///
    /// - Throws: For `own`, `notPermitted` from `fstat` if the file is another user's, and `tooManyLinks` if it has another
    ///   name.
    public func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile {
        if mode == .anonymous { return try openAnonymous(in: path) }
        let common: SystemPackage.FileDescriptor.OpenOptions = [.noFollow, .closeOnExec, .nonBlocking]
        let descriptor = try FileError.naming("open", path) {
            switch mode {
            case .creating, .creatingPrivately:
                // The default permissions of a new file; the umask narrows them.
                try SystemPackage.FileDescriptor.open(
                    path,
                    .readWrite,
                    options: common.union([.create, .exclusiveCreate]),
                    permissions: mode == .creatingPrivately
                        ? [.ownerReadWrite] : [.ownerReadWrite, .groupReadWrite, .otherReadWrite]
                )
            case .existing, .own: try SystemPackage.FileDescriptor.open(path, .readWrite, options: common)
            case .reading, .anonymous: try SystemPackage.FileDescriptor.open(path, .readOnly, options: common)
            }
        }
        let file = SystemFile(descriptor, path, calls)
        do throws(FileError) {
            guard try file.isRegular() else { throw FileError(call: "open", path: path, errno: .invalidArgument) }
            if mode == .own { try file.checkOwner() }
            return file
        } catch {
            file.close()
            throw error
        }
    }

    private func openAnonymous(in folder: FilePath) throws(FileError) -> any OpenFile {
        do throws(FileError) {
            let descriptor = try FileError.naming("open", folder) {
                try SystemPackage.FileDescriptor.open(
                    folder,
                    .readWrite,
                    options: Self.temporary,
                    permissions: [.ownerReadWrite]
                )
            }
            return SystemFile(descriptor, folder)
        } catch {
            // A file system without O_TMPFILE returns EOPNOTSUPP, an old kernel EISDIR or EINVAL.
            guard [.notSupported, .isDirectory, .invalidArgument].contains(error.errno) else { throw error }
            return try openUnlinked(in: folder)
        }
    }

    /// Creates a file under an unguessable name and unlinks it at once.
    func openUnlinked(in folder: FilePath) throws(FileError) -> any OpenFile {
        let numbers = [UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)]
        let name = numbers.map { String($0, radix: 36) }.joined(separator: "-")
        let path = folder.appending(".\(name).squall-spool")
        let file = try open(path, .creatingPrivately)
        do throws(FileError) {
            try remove(path)
            return file
        } catch {
            file.close()
            throw error
        }
    }

    /// O_TMPFILE of Linux (include/uapi/asm-generic/fcntl.h), which SystemPackage lacks.
    private static let temporary = SystemPackage.FileDescriptor.OpenOptions(rawValue: 0o20_000_000)
        .union([.directory, .closeOnExec])

    /// rename(2); to a new name link(2) and unlink(2), as rename(2) would replace a file of that name. A crash between the
    /// two leaves both names.
    public func rename(_ old: FilePath, to new: FilePath, replaces: Bool) throws(FileError) {
        if !replaces {
            let isLinked = (try? FileManager.default.linkItem(atPath: old.string, toPath: new.string)) != nil
            guard !isLinked else { return try remove(old) }
            // A file system without hard links, such as FAT, has this check only.
            guard try kind(of: new) == nil else { throw FileError(call: "rename", path: new, errno: .fileExists) }
        }
        try FileError.naming("rename", new) {
            try files.rename(path: old.string, newName: new.string, eventLoop: loop).wait()
        }
    }

    /// unlink(2).
    public func remove(_ path: FilePath) throws(FileError) {
        try FileError.naming("unlink", path) { try files.unlink(path: path.string, eventLoop: loop).wait() }
    }

    /// mkdir(2) with the mode 0700.
    public func makeFolder(_ path: FilePath) throws(FileError) {
        do throws(FileError) {
            try FileError.naming("mkdir", path) {
                try files.createDirectory(
                    path: path.string,
                    withIntermediateDirectories: false,
                    mode: S_IRWXU,
                    eventLoop: loop
                ).wait()
            }
        } catch {
            guard error.errno == .fileExists, try kind(of: path) == .folder else { throw error }
        }
    }

    /// readdir(3).
    public func names(in folder: FilePath) throws(FileError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.string)
        } catch {
            throw FileError(call: "readdir", path: folder, errno: .ioError)
        }
    }

    /// lstat(2).
    public func kind(of path: FilePath) throws(FileError) -> FileKind? {
        do throws(FileError) {
            let status = try FileError.naming("lstat", path) { try path.stat(followTargetSymlink: false) }
            return switch status.type {
            case .regular: .regular
            case .directory: .folder
            default: .other
            }
        } catch {
            guard error.errno == .noSuchFileOrDirectory else { throw error }
            return nil
        }
    }

    /// fsync(2) of the folder. A file system that doesn't support it makes names durable by itself. A folder that may be
    /// written but not read can't be synced.
    public func synchronizeFolder(_ path: FilePath) throws(FileError) {
        do throws(FileError) {
            let descriptor = try FileError.naming("open", path) {
                try SystemPackage.FileDescriptor.open(path, .readOnly, options: [.directory, .closeOnExec])
            }
            // Opened only for reading, so close can't lose writes.
            defer { try? descriptor.close() }
            try FileError.repeating("fsync", path) { calls.synchronize(descriptor.rawValue) }
        } catch {
            guard [.invalidArgument, .notSupported, .permissionDenied].contains(error.errno) else { throw error }
        }
    }

    private var files: NonBlockingFileIO { NonBlockingFileIO(threadPool: Self.threads) }

    private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.any() }
}

extension FileError {
    /// Runs a throwing call and attaches a name and a path to its error.
    public static func naming<Value>(_ call: String, _ path: FilePath, _ body: () throws -> Value) throws(FileError)
        -> Value
    {
        do {
            return try body()
        } catch let error as Errno {
            throw FileError(call: call, path: path, errno: error)
        } catch let error as IOError {
            throw FileError(call: call, path: path, errno: Errno(rawValue: error.errnoCode))
        } catch {
            throw FileError(call: call, path: path, errno: .ioError)
        }
    }

    /// Runs a call that returns -1 and sets `errno` on failure; retries on EINTR.
    static func repeating(_ call: String, _ path: FilePath, _ body: () -> CInt) throws(FileError) {
        while body() != 0 {
            let code = Errno(rawValue: Glibc.errno)
            guard code == .interrupted else { throw FileError(call: call, path: path, errno: code) }
        }
    }
}
