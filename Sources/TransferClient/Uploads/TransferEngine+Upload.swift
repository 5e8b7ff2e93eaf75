import TransferProtocol
import Units

extension TransferEngine {
    /// Uploads content over as many connections as needed (draft-ietf-httpbis-resumable-upload).
    ///
    /// If the server supports one of the drafts, the same call resumes an interrupted upload, even of a killed process.
    /// Otherwise it is a plain upload, which restarts after a failure if it may be repeated. A file is hashed first unless
    /// the request has its digest. Content without a path is identified by digest and length.
    ///
    /// - Parameters:
    ///   - content: The content. A file must not change during the upload.
    ///   - request: The upload request.
    ///   - callbacks: The caller's callbacks.
    ///   - start: When the upload started, for its deadline; `nil` for now. Reading the content may have taken time.
    ///   - onEvent: Called for each event, in order; the upload waits for it, so it should return quickly.
    /// - Returns: A summary, once the server has accepted the content.
    /// - Throws: A `TransferError`, whose `disposition` tells whether the same content to the same target resumes.
    public func upload(
        _ content: UploadContent,
        _ request: UploadRequest,
        callbacks: TransferCallbacks = TransferCallbacks(),
        startedAt start: Moment? = nil,
        onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
    ) async throws(TransferError) -> TransferSummary {
        let start = start ?? configuration.clock.now()
        return try await withinDeadline(since: start) { () async throws(TransferError) in
            let url = try await checkedURL(of: request)
            if let named = request.sha256, let actual = content.sha256, actual != named {
                throw .digestDiffers(named: named, actual: actual)
            }
            let journal = try await UploadJournalFile.open(request, content, url, environment)
            return try await closing(journal.close) { () async throws(TransferError) in
                try await upload(content, request, url, journal, callbacks.endingWithTask, start, onEvent)
            }
        }
    }

    private func upload(
        _ source: UploadContent,
        _ request: UploadRequest,
        _ url: TransferURL,
        _ journal: UploadJournalFile,
        _ callbacks: TransferCallbacks,
        _ start: Moment,
        _ onEvent: @escaping @Sendable (TransferEvent) -> Void
    ) async throws(TransferError) -> TransferSummary {
        let parameters = parameters(of: source, request, url)
        let earlier = try await journal.read(for: source.name)
        let sha256: [UInt8]
        switch source.kind {
        case .hashed(let content): sha256 = content.sha256
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
        var reason: RestartReason?
        if let earlier {
            let resource = earlier.creation.resource
            if earlier.creation.sha256 != sha256 || earlier.creation.source.length != source.identity.length {
                reason = .sourceChanged
            } else if !request.dialects.allows(resource.dialect) {
                reason = .differentDialect
            } else {
                state = UploadState(parameters, resuming: resource, mayBeComplete: earlier.mayBeComplete)
            }
            if reason != nil { state.abandon(resource) }
        } else if request.mayBeSent, !request.mayBeRepeated {
            throw .refused(.notRepeatable(.connectionLost("an earlier run ended after it began to send the file")))
        }
        let session = UploadSession(
            environment,
            request,
            source,
            sha256: sha256,
            journal,
            state,
            callbacks,
            seed: nextSeed(),
            startedAt: start,
            onEvent: onEvent
        )
        return try await session.run(restarting: reason)
    }

    /// Asks the server once to delete an unfinished upload of the same content and request, and removes its journal.
    package func discardUpload(_ content: UploadContent, _ request: UploadRequest) async throws(TransferError) {
        let url = try await checkedURL(of: request)
        let journal = try await UploadJournalFile.open(request, content, url, environment)
        try await closing(journal.close) { () async throws(TransferError) in
            if let earlier = try await journal.read(for: content.name) {
                var state = UploadState(parameters(of: content, request, url))
                state.abandon(earlier.creation.resource)
                await UploadSession(
                    environment,
                    request,
                    content,
                    sha256: earlier.creation.sha256,
                    journal,
                    state,
                    TransferCallbacks(),
                    seed: nextSeed(),
                    startedAt: configuration.clock.now()
                ) { _ in }.cancelAbandoned()
            }
            try await journal.remove()
        }
    }

    private func parameters(of source: UploadContent, _ request: UploadRequest, _ url: TransferURL)
        -> UploadState.Parameters
    {
        var parameters = UploadState.Parameters(
            target: url,
            length: source.identity.length,
            dialects: request.dialects,
            isRepeatable: request.mayBeRepeated
        )
        parameters.isPost = request.method == .post
        return parameters
    }

    /// Validates a request without connecting, before a stream is read.
    ///
    /// - Throws: `.invalidURL`, `.invalidTLSSettings`, or `.invalidDigest` for a digest that can't be one.
    public func check(_ request: UploadRequest) async throws(TransferError) {
        _ = try await checkedURL(of: request)
    }

    private func checkedURL(of request: UploadRequest) async throws(TransferError) -> TransferURL {
        if let named = request.sha256, named.count != 32 { throw .invalidDigest(count: named.count) }
        return try await preparedURL(request.url)
    }
}
