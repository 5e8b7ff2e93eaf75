import DurableFiles
import NIOCore
import NIOPosix
import SystemPackage
import TransferProtocol

/// Runs blocking calls on a thread pool, away from event loops and the tasks' threads.
struct FileWorker: Sendable {
    /// The thread pool; without one, calls run inline, as tests with a simulated disk need.
    let pool: NIOThreadPool?

    /// Runs `body` to completion, even if the task is cancelled meanwhile: a checkpoint is never left half done.
    ///
    /// - Throws: The error of `body`, converted.
    @_semantics("optimize.sil.specialize.generic.never")
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(TransferError) -> Value {
        guard let pool else { return try Self.converted(body).get() }
        let result: Result<Value, TransferError> = await withCheckedContinuation { continuation in
            pool.submit { state in
                switch state {
                case .active: continuation.resume(returning: Self.converted(body))
                case .cancelled: continuation.resume(returning: .failure(.cancelled))
                }
            }
        }
        return try result.get()
    }

    @_semantics("optimize.sil.specialize.generic.never")
    private static func converted<Value>(_ body: () throws -> Value) -> Result<Value, TransferError> {
        Result(catching: body).mapError { error in
            switch error {
            case let error as TransferError: error
            case let error as FileError: TransferError(error)
            default: preconditionFailure("Blocking calls throw errors of files and transfers: \(error)")
            }
        }
    }

    /// Resolves the symbolic links at `path`: to a non-link, or to a name that doesn't exist yet.
    func target(of path: FilePath) async throws(TransferError) -> FilePath {
        var target = path
        for _ in 0..<FileWorker.maximumLinks {
            // It isn't cancelled with this task.
            switch await Task.detached(operation: { [files, target] in try await files.readlink(path: target.string) })
                .result
            {
            // An absolute target replaces the whole path.
            case .success(let next): target = target.removingLastComponent().pushing(FilePath(next))
            case .failure(let error):
                let code = Errno(of: error)
                guard code != .invalidArgument, code != .noSuchFileOrDirectory else { return target }
                throw .fileSystem(call: "readlink", path: target.string, code)
            }
        }
        throw .fileSystem(call: "readlink", path: path.string, .tooManySymbolicLinkLevels)
    }

    /// The maximum number of links followed: as many as Linux follows.
    private static let maximumLinks = 40

    /// File calls of SwiftNIO on these threads.
    var files: NonBlockingFileIO { NonBlockingFileIO(threadPool: pool ?? .singleton) }
}

extension TransferError {
    /// Converts an error; a lock held elsewhere, a name that is taken and a file that isn't `FileOpening.own` have their own
    /// cases.
    init(_ error: FileError) {
        let path = error.path.string
        self =
            switch (error.call, error.errno) {
            case ("flock", .wouldBlock): .locked(path)
            case ("rename", .fileExists): .invalidFile(path, "it exists; name it as the output to replace it")
            case ("fstat", .notPermitted): .invalidFile(path, "it belongs to another user; remove it")
            case ("fstat", .tooManyLinks): .invalidFile(path, "it has another name (a hard link); remove it")
            default: .fileSystem(call: error.call, path: path, error.errno)
            }
    }
}

extension Errno {
    /// The code of an error of SystemPackage or SwiftNIO.
    init(of error: any Error) {
        self = error as? Errno ?? (error as? IOError).map { Errno(rawValue: $0.errnoCode) } ?? .ioError
    }
}

extension RecordLog.Contents {
    /// The records in the form that journals take.
    var numbered: [(kind: UInt8, payload: [UInt8])] { records.map { ($0.kind, $0.payload) } }
}
