import SystemPackage
import TransferProtocol

extension TransferClient {
    /// Uploads a file, through as many connections as it takes (draft-ietf-httpbis-resumable-upload).
    ///
    /// Where the server speaks one of the drafts, an upload that was interrupted, killed included, is continued by the
    /// same call: a journal in the request's folder remembers the URL of the upload. Otherwise it is an ordinary
    /// upload, which starts anew after a failure if it may be repeated. The file is hashed first, unless the request has its
    /// digest, which goes with the upload (`Repr-Digest`, RFC 9530) and is compared with the one that the server tells.
    ///
    /// - Parameters:
    ///   - path: A regular file. It must not change while it is uploaded.
    ///   - request: The target and the way.
    ///   - callbacks: The questions that it asks on the way.
    ///   - onEvent: Called for each event, in order; the upload waits for it, so it should return soon.
    /// - Returns: What it took, once the server has accepted the whole.
    /// - Throws: An `UploadError`, whose `disposition` tells whether calling again continues.
    public func upload(
        _ path: FilePath,
        _ request: UploadRequest,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async throws(UploadError) -> UploadSummary {
        let url = try await UploadError.mapping { () async throws(DownloadError) in try await preparedURL(request.url) }
        let worker = FileWorker(pool: threadPool)
        let source = try await UploadSourceFile.open(path, worker)
        let journal = try await UploadJournalFile.open(request, source, url, worker)
        do throws(UploadError) {
            let summary = try await upload(source, request, url, journal, callbacks, onEvent)
            await journal.close()
            return summary
        } catch {
            await journal.close()
            throw error
        }
    }

    private func upload(
        _ source: UploadSourceFile,
        _ request: UploadRequest,
        _ url: DownloadURL,
        _ journal: UploadJournalFile,
        _ callbacks: TransferCallbacks,
        _ onEvent: @escaping @Sendable (UploadEvent) -> Void
    ) async throws(UploadError) -> UploadSummary {
        let parameters = UploadState.Parameters(
            target: url,
            length: source.identity.length,
            dialects: request.dialects,
            isRepeatable: request.mayBeRepeated
        )
        let earlier = try await journal.read(for: source.path.string)
        var sha256: [UInt8]
        if let earlier, earlier.creation.source == source.identity {
            sha256 = earlier.creation.sha256
        } else {
            sha256 = try await digest(of: source, request)
        }
        var state = UploadState(parameters)
        var reason: UploadRestartReason?
        if let earlier {
            let resource = earlier.creation.resource
            if earlier.creation.sha256 != sha256 || earlier.creation.source.length != source.identity.length {
                reason = .sourceChanged
            } else if !request.dialects.allows(resource.dialect) {
                reason = .otherDialect
            } else {
                state = UploadState(parameters, resuming: resource, mayBeComplete: earlier.mayBeComplete)
            }
            if reason != nil { state.abandon(resource) }
        }
        let session = UploadSession(self, request, source, sha256: sha256, journal, state, callbacks, onEvent: onEvent)
        return try await session.run(restarting: reason)
    }

    private func digest(of source: UploadSourceFile, _ request: UploadRequest) async throws(UploadError) -> [UInt8] {
        guard let known = request.sha256 else { return try await source.sha256() }
        guard known.count == 32 else {
            throw .invalidSource(source.path.string, "a SHA-256 has 32 bytes, and the given one has \(known.count)")
        }
        return known
    }
}
