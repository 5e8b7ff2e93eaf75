extension TransferSession {
    /// Uploads a file, through as many connections as it takes (draft-ietf-httpbis-resumable-upload).
    ///
    /// Where the server speaks one of the drafts, an upload that was interrupted, killed included, is continued by the same
    /// call. Otherwise it is an ordinary upload, which starts anew after a failure if it may be repeated.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - file: The path of a regular file. It must not change meanwhile.
    ///   - observer: Told of every status, in place of the configuration's; on the transfer's task, which waits for it.
    /// - Returns: The transfer, which has begun.
    public func upload(
        _ request: TransferRequest,
        from file: String,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer {
        upload(request, .file(Self.absolute(file)), stateFolder: configuration.stateFolder, observer)
    }

    /// Uploads bytes in memory, through as many connections as it takes (draft-ietf-httpbis-resumable-upload).
    ///
    /// They are remembered by their SHA-256 and their length: the same bytes to the same URL go on where an earlier upload
    /// was interrupted, in another process too. They aren't copied, and are held until the transfer ends.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - bytes: What to upload.
    ///   - observer: Told of every status, in place of the configuration's; on the transfer's task, which waits for it.
    /// - Returns: The transfer, which has begun. A token of it goes on by `resumeUpload(_:from:)`.
    public func upload(
        _ request: TransferRequest,
        from bytes: [UInt8],
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer {
        upload(request, .memory(bytes), stateFolder: configuration.stateFolder, observer)
    }

    /// Uploads a stream, such as an `AsyncStream` or the `chunks` of a response, through as many connections as it takes.
    ///
    /// The upload begins when the stream has ended: it is read into a file without a name in the `stateFolder` first, with
    /// one chunk in memory, and asked for the next one when that is written. Then it goes on like bytes in memory. So it
    /// takes as much room on the disk as it has bytes, `maximumStreamBytes` at most.
    ///
    /// A stream that throws ends the transfer with `.streamFailed`, and nothing was sent. A chunk of any length will do.
    ///
    /// - Parameters:
    ///   - request: The target.
    ///   - chunks: What to upload. It is read once.
    ///   - observer: Told of every status, in place of the configuration's; on the transfer's task, which waits for it.
    /// - Returns: The transfer, which has begun. A token of it goes on by `resumeUpload(_:from:)`, with the same bytes.
    public func upload<Chunks: AsyncSequence & Sendable>(
        _ request: TransferRequest,
        from chunks: Chunks,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> UploadTransfer where Chunks.Element == [UInt8] {
        upload(request, .stream(of: chunks), stateFolder: configuration.stateFolder, observer)
    }

    /// Goes on with the upload of a file.
    ///
    /// - Parameters:
    ///   - token: What an earlier transfer left.
    ///   - adjust: Puts in what no token has: headers, credentials and callbacks. With another URL the upload begins anew.
    ///   - observer: Told of every status, in place of the configuration's.
    /// - Returns: The transfer, which has begun.
    /// - Throws: A `TransferError` with the code `.invalidToken`, when the token is a download's, or has no file.
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

    /// Goes on with the upload of bytes in memory, or of a stream.
    ///
    /// - Parameters:
    ///   - token: What an earlier transfer left.
    ///   - bytes: The bytes of that transfer. With others the transfer fails with `.invalidRequest`.
    ///   - adjust: Puts in what no token has: headers, credentials and callbacks. With another URL the upload begins anew.
    ///   - observer: Told of every status, in place of the configuration's.
    /// - Returns: The transfer, which has begun.
    /// - Throws: A `TransferError` with the code `.invalidToken`, when the token is a download's, or a file's.
    public func resumeUpload(
        _ token: ResumptionToken,
        from bytes: [UInt8],
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> UploadTransfer {
        try resume(token, .memory(bytes), adjust, observer)
    }

    /// Goes on with the upload of a stream, or of bytes in memory. The stream is read from its beginning.
    ///
    /// - Parameters:
    ///   - token: What an earlier transfer left.
    ///   - chunks: A stream of the same bytes. With others the transfer fails with `.invalidRequest`.
    ///   - adjust: Puts in what no token has: headers, credentials and callbacks. With another URL the upload begins anew.
    ///   - observer: Told of every status, in place of the configuration's.
    /// - Returns: The transfer, which has begun.
    /// - Throws: A `TransferError` with the code `.invalidToken`, when the token is a download's, or a file's.
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
        _ source: UploadOrigin,
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
