import SystemPackage
import TransferProtocol

/// What a queue asks about files of transfers that ended without its knowledge.
extension TransferEngine {
    /// Throws when what is at a path is no file that a download replaces, or that an upload reads, or when nothing can have
    /// that path. Nothing there, or a folder that can't be searched, isn't an error.
    package static func checkName(_ path: FilePath, isForUpload: Bool) throws(TransferError) {
        do throws(TransferError) {
            guard !isForUpload else { return try UploadSourceFile.check(path) }
            try PartialFilePaths.checkReplaceable(path, followingLinks: true)
            _ = try PartialFilePaths(destination: path)
        } catch {
            if case .fileSystem = error, !error.isOfPath { return }
            throw error
        }
    }

    /// The name of the journal of an upload. Uploads with the same name resume each other.
    package func journalName(of content: UploadContent, _ request: UploadRequest) throws(TransferError) -> String {
        UploadJournalFile.name(request, content, try TransferURL(checked: request.url))
    }

    /// Whether a download has been renamed to its destination: no partial file is left, and the file has this length and
    /// digest. Its name is durable then.
    package func isFinished(_ destination: FilePath, bytes: Int64, sha256: [UInt8]) async throws(TransferError) -> Bool
    {
        let paths = try await PartialFilePaths.following(destination, worker)
        let isRenamed = try await worker.run { [files = environment.files] in try files.kind(of: paths.data) == nil }
        guard isRenamed else { return false }
        return try await paths.synchronizeDestination(withSHA256: sha256, in: environment.files, worker) == bytes
    }
}
