import NIOCore
import NIOPosix
import SystemPackage

/// Runs blocking calls on a thread pool, away from event loops and the tasks' threads.
struct FileWorker: Sendable {
    /// The thread pool; without one, calls run inline, as tests with a simulated disk need.
    let pool: NIOThreadPool?

    /// Runs `body` to completion, even if the task is cancelled meanwhile: a checkpoint is never left half done.
    func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws(DownloadError) -> Value
    ) async throws(DownloadError) -> Value {
        guard let pool else { return try body() }
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

    /// Resolves the symbolic links at `path`: to a non-link, or to a name that doesn't exist yet.
    func target(of path: FilePath) async throws(DownloadError) -> FilePath {
        var target = path
        for _ in 0..<FileWorker.maximumLinks {
            do throws(DownloadError) {
                let next = try await uncancelled("readlink", target) { [files, target] in
                    try await files.readlink(path: target.string)
                }
                // An absolute target replaces the whole path.
                target = target.removingLastComponent().pushing(FilePath(next))
            } catch .fileSystem(_, _, .invalidArgument) {
                return target
            } catch .fileSystem(_, _, .noSuchFileOrDirectory) {
                return target
            }
        }
        throw .fileSystem(call: "readlink", path: path.string, .tooManySymbolicLinkLevels)
    }

    /// The maximum number of links followed: as many as Linux follows.
    private static let maximumLinks = 40

    /// File calls of SwiftNIO on these threads.
    var files: NonBlockingFileIO { NonBlockingFileIO(threadPool: pool ?? .singleton) }

    private func uncancelled<Value: Sendable>(
        _ call: String,
        _ path: FilePath,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(DownloadError) -> Value {
        switch await Task.detached(operation: body).result {
        case .success(let value): return value
        case .failure(let error):
            let code = (error as? IOError).map { Errno(rawValue: $0.errnoCode) }
            throw .fileSystem(call: call, path: path.string, code ?? .ioError)
        }
    }
}
