import NIOCore
import NIOPosix
import SystemPackage

/// Runs calls that may block on threads of their own, away from event loops and from the tasks' threads.
struct FileWorker: Sendable {
    /// The threads; without them a call is made where it is asked for, as tests of a simulated disk need it.
    let pool: NIOThreadPool?

    /// Runs `body` to its end, even when the task is cancelled meanwhile: a checkpoint is never half done.
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

    /// Where the links at `path` lead in the end: to what is no link, or to a name that nothing has yet.
    func target(of path: FilePath) async throws(DownloadError) -> FilePath {
        var target = path
        for _ in 0..<FileWorker.mostLinks {
            do throws(DownloadError) {
                let next = try await uncancelled("readlink", target) { [files, target] in
                    try await files.readlink(path: target.string)
                }
                // What an absolute link says takes the place of the whole.
                target = target.removingLastComponent().pushing(FilePath(next))
            } catch .fileSystem(_, _, .invalidArgument) {
                return target
            } catch .fileSystem(_, _, .noSuchFileOrDirectory) {
                return target
            }
        }
        throw .fileSystem(call: "readlink", path: path.string, .tooManySymbolicLinkLevels)
    }

    /// So many links are followed, one after the other, at most: as many as the system does.
    private static let mostLinks = 40

    /// Calls of SwiftNIO on these threads.
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
