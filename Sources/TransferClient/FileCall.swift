import DurableFiles
import SystemPackage

/// File system calls whose errors have call, path and errno.
enum FileCall {
    /// Runs calls of a `FileSystem`.
    static func run<Value>(_ body: () throws(FileError) -> Value) throws(DownloadError) -> Value {
        do throws(FileError) {
            return try body()
        } catch {
            throw DownloadError(error)
        }
    }

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
}

extension DownloadError {
    /// Converts an error; a lock held elsewhere has its own case.
    init(_ error: FileError) {
        self =
            error.call == "flock" && error.errno == .wouldBlock
            ? .locked(error.path.string)
            : .fileSystem(call: error.call, path: error.path.string, error.errno)
    }
}

extension RecordLog.Contents {
    /// The records in the form that journals take.
    var numbered: [(kind: UInt8, payload: [UInt8])] { records.map { ($0.kind, $0.payload) } }
}
