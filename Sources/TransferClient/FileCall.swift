import Glibc
import SystemPackage

/// Calls to the system whose failure names the call, the path and the errno.
enum FileCall {
    /// Runs a throwing call of SystemPackage.
    static func run<Value>(
        _ call: String,
        _ path: FilePath,
        _ body: () throws -> Value
    ) throws(DownloadError) -> Value {
        do {
            return try body()
        } catch {
            throw .fileSystem(call: call, path: path.string, error as? Errno ?? .ioError)
        }
    }

    /// Brings a file's bytes to the disk, and of the rest only what is needed to read them.
    static func synchronizeData(_ descriptor: FileDescriptor, _ path: FilePath) throws(DownloadError) {
        try check("fdatasync", path) { fdatasync(descriptor.rawValue) }
    }

    /// Brings a file, or a directory, to the disk.
    static func synchronize(_ descriptor: FileDescriptor, _ path: FilePath) throws(DownloadError) {
        try check("fsync", path) { fsync(descriptor.rawValue) }
    }

    /// Locks a file, or says at once that somebody else has it.
    static func lock(_ descriptor: FileDescriptor, _ path: FilePath) throws(DownloadError) {
        do {
            try check("flock", path) { flock(descriptor.rawValue, LOCK_EX | LOCK_NB) }
        } catch .fileSystem(_, _, .wouldBlock) {
            throw .locked(path.string)
        }
    }

    private static func check(_ call: String, _ path: FilePath, _ body: () -> CInt) throws(DownloadError) {
        while body() != 0 {
            let code = Errno(rawValue: errno)
            guard code == .interrupted else { throw .fileSystem(call: call, path: path.string, code) }
        }
    }
}
