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
        try await upload(try await content(of: path), request, callbacks: callbacks, onEvent: onEvent)
    }

    /// Uploads any content, in the way of a file's. What is no file is remembered by its digest and its length: the same
    /// bytes go on where they were interrupted.
    ///
    /// - Parameters:
    ///   - content: What to upload.
    ///   - request: The target and the way.
    ///   - callbacks: The questions that it asks on the way.
    ///   - onEvent: Called for each event, in order; the upload waits for it, so it should return soon.
    /// - Returns: What it took, once the server has accepted the whole.
    /// - Throws: An `UploadError`, whose `disposition` tells whether the same content to the same target continues.
    public func upload(
        _ content: UploadContent,
        _ request: UploadRequest,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onEvent: @escaping @Sendable (UploadEvent) -> Void = { _ in }
    ) async throws(UploadError) -> UploadSummary {
        let url = try await checkedURL(of: request)
        if let named = request.sha256, let actual = content.sha256, actual != named {
            throw .digestDiffers(named: named, actual: actual)
        }
        let journal = try await UploadJournalFile.open(request, content, url, FileWorker(pool: threadPool))
        do throws(UploadError) {
            let summary = try await upload(content, request, url, journal, callbacks, onEvent)
            await journal.close()
            return summary
        } catch {
            await journal.close()
            throw error
        }
    }

    private func upload(
        _ source: UploadContent,
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
        let earlier = try await journal.read(for: source.name)
        let sha256: [UInt8]
        switch source.kind {
        case .memory(let memory): sha256 = memory.sha256
        case .spool(let spool): sha256 = spool.sha256
        case .file(let file):
            if let earlier, earlier.creation.source == file.identity {
                sha256 = earlier.creation.sha256
            } else if let named = request.sha256 {
                sha256 = named
            } else {
                sha256 = try await file.sha256()
            }
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

    /// Finds what is wrong with a request without making a connection, so that a stream isn't read for nothing.
    ///
    /// - Throws: `.invalidURL`, `.invalidTLSSettings`, or `.invalidDigest` for a digest that can't be one.
    public func check(_ request: UploadRequest) async throws(UploadError) {
        _ = try await checkedURL(of: request)
    }

    private func checkedURL(of request: UploadRequest) async throws(UploadError) -> DownloadURL {
        if let named = request.sha256, named.count != 32 { throw .invalidDigest(count: named.count) }
        return try await UploadError.mapping { () async throws(DownloadError) in try await preparedURL(request.url) }
    }
}
