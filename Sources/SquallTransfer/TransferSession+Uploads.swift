extension TransferSession {
    /// Uploads a file over as many connections as needed (draft-ietf-httpbis-resumable-upload).
    ///
    /// If the server supports one of the drafts, the same call resumes an interrupted upload, even of a killed process.
    /// Otherwise it is a plain upload, which restarts after a failure if it may be repeated.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - file: The path of a regular file. It must not change during the upload.
    ///   - observer: Called with each status, instead of the configuration's; the transfer waits for it.
    /// - Returns: The running transfer.
    public func upload(
        for request: TransferRequest,
        from file: String,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer {
        upload(
            request,
            .file(request.keepsPath ? file : Self.absolute(file)),
            stateFolder: configuration.stateFolder,
            observer
        )
    }

    /// Uploads bytes in memory over as many connections as needed (draft-ietf-httpbis-resumable-upload).
    ///
    /// They are identified by SHA-256 and length: the same bytes to the same URL resume an interrupted upload, even in
    /// another process. They aren't copied, and are retained with the transfer.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - bytes: The content.
    ///   - observer: Called with each status, instead of the configuration's; the transfer waits for it.
    /// - Returns: The running transfer. Its token is resumed by `resumeUpload(_:from:)`.
    public func upload(
        for request: TransferRequest,
        from bytes: [UInt8],
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer {
        upload(request, .memory(bytes), stateFolder: configuration.stateFolder, observer)
    }

    /// Uploads a stream, such as an `AsyncStream` or the `chunks` of a response, over as many connections as needed.
    ///
    /// The stream is first spooled to an unnamed file in the `stateFolder`, one chunk at a time, and then uploaded like
    /// bytes in memory. It needs disk space for all its bytes, at most `maximumStreamBytes`.
    ///
    /// A stream that throws ends the transfer with `.streamFailed` before anything is sent. Chunks may have any length.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - chunks: The content. It is iterated once.
    ///   - observer: Called with each status, instead of the configuration's; the transfer waits for it.
    /// - Returns: The running transfer. Its token is resumed by `resumeUpload(_:from:)`, with the same bytes.
    public func upload<Chunks: AsyncSequence & Sendable>(
        for request: TransferRequest,
        from chunks: Chunks,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer where Chunks.Element == [UInt8] {
        upload(request, .stream(of: chunks), stateFolder: configuration.stateFolder, observer)
    }

    /// Resumes the upload of a file.
    ///
    /// - Parameters:
    ///   - token: The token of an earlier transfer.
    ///   - adjust: Adds what a token lacks: headers, credentials and callbacks. With another URL the upload restarts.
    ///   - observer: Called with each status, instead of the configuration's.
    /// - Returns: The running transfer.
    /// - Throws: A `TransferError` with the code `.invalidToken` when the token is a download's, or has no file.
    public func resumeUpload(
        _ token: ResumptionToken,
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> UploadTransfer {
        guard token.direction == .download || !token.file.isEmpty else {
            throw TransferError(
                .invalidToken,
                "the token is of an upload from memory or of a stream: give the same bytes to resumeUpload(_:from:)"
            )
        }
        return try resume(token, .file(Self.absolute(token.file)), adjust, observer)
    }

    /// Resumes the upload of bytes in memory, or of a stream.
    ///
    /// - Parameters:
    ///   - token: The token of an earlier transfer.
    ///   - bytes: The bytes of that transfer. With others the transfer fails with `.invalidRequest`.
    ///   - adjust: Adds what a token lacks: headers, credentials and callbacks. With another URL the upload restarts.
    ///   - observer: Called with each status, instead of the configuration's.
    /// - Returns: The running transfer.
    /// - Throws: A `TransferError` with the code `.invalidToken` when the token is a download's, or a file's.
    public func resumeUpload(
        _ token: ResumptionToken,
        from bytes: [UInt8],
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> UploadTransfer {
        try resume(token, .memory(bytes), adjust, observer)
    }

    /// Resumes the upload of a stream, or of bytes in memory. The stream is read from its start.
    ///
    /// - Parameters:
    ///   - token: The token of an earlier transfer.
    ///   - chunks: A stream of the same bytes. With others the transfer fails with `.invalidRequest`.
    ///   - adjust: Adds what a token lacks: headers, credentials and callbacks. With another URL the upload restarts.
    ///   - observer: Called with each status, instead of the configuration's.
    /// - Returns: The running transfer.
    /// - Throws: A `TransferError` with the code `.invalidToken` when the token is a download's, or a file's.
    public func resumeUpload<Chunks: AsyncSequence & Sendable>(
        _ token: ResumptionToken,
        from chunks: Chunks,
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> UploadTransfer where Chunks.Element == [UInt8] {
        try resume(token, .stream(of: chunks), adjust, observer)
    }

    private func resume(
        _ token: ResumptionToken,
        _ source: UploadContentSource,
        _ adjust: (inout TransferRequest) -> Void,
        _ observer: (@Sendable (TransferStatus) -> Void)?
    ) throws -> UploadTransfer {
        guard token.direction == .upload else { throw TransferError(.invalidToken, "the token is a download's") }
        guard token.file == source.file else {
            throw TransferError(.invalidToken, "the token is of the upload of a file: use resumeUpload(_:)")
        }
        var request = token.request
        adjust(&request)
        return upload(request, source, stateFolder: token.stateFolder ?? configuration.stateFolder, observer)
    }
}
