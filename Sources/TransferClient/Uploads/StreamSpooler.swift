import Digests
import DurableFiles
import OperatingSystem
import Synchronization
import SystemPackage
import TransferProtocol
import Units

/// Spools a stream to an unnamed file and hashes it.
///
/// The next chunk is requested only after the last one is written. The file is closed even if the stream ignores
/// cancellation.
final class StreamSpooler: Sendable {
    /// Smaller chunks are coalesced to this size: 64 KiB.
    static let minimumWrite = 64 << 10
    /// The maximum number of characters kept of a stream's error.
    static let shownCharacters = 1_000

    private let file: any OpenFile
    private let folder: FilePath
    private let limit: Int64
    private let worker: FileWorker
    private let state = Mutex(State())

    private struct State {
        var length: Int64 = 0
        var hasher = SHA256()
        /// Whether the file is closed.
        var isAbandoned = false
    }

    private init(_ file: any OpenFile, _ folder: FilePath, limit: Int64, _ worker: FileWorker) {
        self.file = file
        self.folder = folder
        self.limit = limit
        self.worker = worker
    }

    /// Spools a stream to its end.
    ///
    /// - Parameters:
    ///   - chunks: The stream. It is iterated once, on its own task.
    ///   - folder: The folder of the file.
    ///   - limit: The maximum size; beyond it `.streamTooLong` is thrown.
    ///   - files: The file system of the folder.
    /// - Throws: `.streamFailed` when the stream throws; `.cancelled` as soon as the task is cancelled.
    static func spool<Chunks: AsyncSequence & Sendable>(
        _ chunks: Chunks,
        in folder: FilePath,
        limit: Int64,
        files: any FileSystem,
        _ worker: FileWorker
    ) async throws(TransferError) -> HashedContent where Chunks.Element == [UInt8] {
        guard !Task.isCancelled else { throw .cancelled }
        let file = try await worker.run { try files.open(folder, .anonymous) }
        let spooler = StreamSpooler(file, folder, limit: limit, worker)
        let result = await FirstValue<Result<HashedContent, TransferError>>.result(
            orWhenCancelled: .failure(.cancelled)
        ) {
            await Result { () async throws(TransferError) in try await spooler.read(chunks) }
        }
        if case .failure = result { await spooler.abandon() }
        return try result.get()
    }

    private func read<Chunks: AsyncSequence>(_ chunks: Chunks) async throws(TransferError) -> HashedContent
    where Chunks.Element == [UInt8] {
        var iterator = chunks.makeAsyncIterator()
        var pending: [UInt8] = []
        var length: Int64 = 0
        while let chunk = try await next(&iterator) {
            guard Int64(chunk.count) <= limit - length else { throw .streamTooLong(limit: limit) }
            length += Int64(chunk.count)
            if pending.isEmpty, chunk.count >= Self.minimumWrite {
                try await write(chunk)
            } else {
                pending += chunk
                guard pending.count >= Self.minimumWrite else { continue }
                try await write(pending)
                pending.removeAll(keepingCapacity: true)
            }
        }
        if !pending.isEmpty { try await write(pending) }
        let sha256 = state.withLock { $0.hasher.finalize() }
        return HashedContent(file, in: folder, length: length, sha256: sha256, worker)
    }

    /// The next chunk.
    private func next<Iterator: AsyncIteratorProtocol>(
        _ iterator: inout Iterator
    ) async throws(TransferError) -> [UInt8]? where Iterator.Element == [UInt8] {
        let chunk: [UInt8]?
        do {
            chunk = try await iterator.next()
        } catch {
            guard !Task.isCancelled else { throw .cancelled }
            throw .streamFailed(String(describing: error).shortened(to: Self.shownCharacters))
        }
        guard !Task.isCancelled else { throw .cancelled }
        return chunk
    }

    private func write(_ bytes: [UInt8]) async throws(TransferError) {
        try await worker.run { [self] in
            try state.withLock { state in
                guard !state.isAbandoned else { throw TransferError.cancelled }
                try file.write(bytes, at: state.length)
                state.length += Int64(bytes.count)
                state.hasher.update(bytes)
            }
        }
    }

    /// Closes the file and so discards everything read.
    private func abandon() async {
        _ = try? await worker.run { [self] in
            state.withLock { state in
                guard !state.isAbandoned else { return }
                state.isAbandoned = true
                file.close()
            }
        }
    }
}
