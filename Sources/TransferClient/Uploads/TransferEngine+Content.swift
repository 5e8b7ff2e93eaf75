import DurableFiles
import NIOPosix
import SystemPackage
import TransferProtocol

extension TransferEngine {
    /// Opens a file as the content of an upload.
    ///
    /// - Parameter path: A regular file. It must not change while it is uploaded.
    /// - Throws: `.invalidFile` when it isn't a regular file, and errors of the file system.
    public func content(of path: FilePath) async throws(TransferError) -> UploadContent {
        UploadContent(kind: .file(try await UploadSourceFile(path, worker)))
    }

    /// Uses bytes in memory as the content of an upload, and hashes them. They aren't copied.
    ///
    /// - Throws: `.cancelled`, or `.gaveUp` after the deadline.
    public func content(of bytes: [UInt8]) async throws(TransferError) -> UploadContent {
        try await withinDeadline { () async throws(TransferError) in
            UploadContent(kind: .hashed(try await HashedContent(bytes, worker)))
        }
    }

    /// Spools a stream to an unnamed file as the content of an upload, and hashes it.
    ///
    /// The next chunk is requested only after the last one is written. The file disappears with the content, or when
    /// the process ends.
    ///
    /// - Parameters:
    ///   - chunks: The stream. It is iterated once, on its own task, which is cancelled with this one.
    ///   - folder: The folder of the file; created with mode 0700 if missing.
    /// - Throws: `.streamFailed` when the stream throws, `.streamTooLong` beyond `maximumStreamBytes`, errors of the
    ///   file system, `.cancelled` immediately and `.gaveUp` after the deadline, whatever the stream does.
    public func content<Chunks: AsyncSequence & Sendable>(
        of chunks: Chunks,
        spooledIn folder: FilePath
    ) async throws(TransferError) -> UploadContent where Chunks.Element == [UInt8] {
        try await withinDeadline { () async throws(TransferError) in
            try await worker.run { [files = environment.files] in try files.makeFolders(folder) }
            let spool = try await StreamSpooler.spool(
                chunks,
                in: folder,
                limit: min(configuration.maximumStreamBytes, UploadFields.largest),
                files: environment.files,
                worker
            )
            return UploadContent(kind: .hashed(spool))
        }
    }
}
