import DurableFiles
import NIOPosix
import SystemPackage
import TransferProtocol

extension TransferClient {
    /// Opens a file as the content of an upload.
    ///
    /// - Parameter path: A regular file. It must not change while it is uploaded.
    /// - Throws: `.invalidSource` when it is no regular file, and the errors of the file system.
    public func content(of path: FilePath) async throws(UploadError) -> UploadContent {
        UploadContent(kind: .file(try await UploadSourceFile.open(path, FileWorker(pool: threadPool))))
    }

    /// Takes bytes in memory as the content of an upload, and hashes them. They aren't copied.
    ///
    /// - Throws: `.cancelled`.
    public func content(of bytes: [UInt8]) async throws(UploadError) -> UploadContent {
        UploadContent(kind: .memory(try await UploadMemory(bytes, FileWorker(pool: threadPool))))
    }

    /// Reads a stream to its end into a file without a name, as the content of an upload, and hashes it.
    ///
    /// The stream is asked for the next chunk when the last one is written. The file is gone with the content, or when the
    /// process ends.
    ///
    /// - Parameters:
    ///   - chunks: The stream. It is read once, on a task of its own, which is cancelled with this one.
    ///   - folder: The folder of the file; it is made, with mode 0700, if it isn't there.
    /// - Throws: `.streamFailed` when the stream throws, `.streamTooLong` beyond `maximumStreamBytes`, the errors of the file
    ///   system, and `.cancelled` at once, whatever the stream does.
    public func content<Chunks: AsyncSequence & Sendable>(
        of chunks: Chunks,
        spooledIn folder: FilePath
    ) async throws(UploadError) -> UploadContent where Chunks.Element == [UInt8] {
        let worker = FileWorker(pool: threadPool)
        try await UploadJournalFile.makeFolder(folder, worker)
        let spool = try await StreamSpooler.spool(
            chunks,
            in: folder,
            limit: min(configuration.maximumStreamBytes, UploadFields.largest),
            files: SystemFiles(),
            worker
        )
        return UploadContent(kind: .spool(spool))
    }
}
