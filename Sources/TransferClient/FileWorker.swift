import NIOCore
import NIOPosix
import SystemPackage

/// Runs calls that may block on threads of their own, away from event loops and from the tasks' threads.
struct FileWorker: Sendable {
    let pool: NIOThreadPool

    /// Runs `body` to its end, even when the task is cancelled meanwhile: a checkpoint is never half done.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        let result: Result<Value, DownloadError> = await withCheckedContinuation { continuation in
            pool.submit { state in
                switch state {
                case .active: continuation.resume(returning: Result(catching: body))
                case .cancelled: continuation.resume(returning: .failure(.cancelled))
                }
            }
        }
        return try result.get()
    }

    /// Puts a file in the place of another, or of none.
    func rename(_ old: FilePath, to new: FilePath) async throws(DownloadError) {
        try await uncancelled("rename", new) { [files] in
            try await files.rename(path: old.string, newName: new.string)
        }
    }

    /// Removes a file; that there is none is fine.
    func remove(_ path: FilePath) async throws(DownloadError) {
        do {
            try await uncancelled("unlink", path) { [files] in try await files.unlink(path: path.string) }
        } catch .fileSystem(_, _, .noSuchFileOrDirectory) {
            return
        }
    }

    private var files: NonBlockingFileIO { NonBlockingFileIO(threadPool: pool) }

    private func uncancelled(
        _ call: String,
        _ path: FilePath,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws(DownloadError) {
        switch await Task.detached(operation: body).result {
        case .success: return
        case .failure(let error):
            let code = (error as? IOError).map { Errno(rawValue: $0.errnoCode) }
            throw .fileSystem(call: call, path: path.string, code ?? .ioError)
        }
    }
}
