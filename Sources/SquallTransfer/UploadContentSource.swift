internal import FoundationEssentials
internal import Synchronization
internal import SystemPackage
internal import TransferClient

/// The source of an upload's content.
enum UploadContentSource: Sendable {
    /// The absolute path of a file.
    case file(String)
    /// Bytes in memory.
    case memory([UInt8])
    /// A stream, as a function that spools it to an unnamed file in a folder.
    case stream(@Sendable (TransferEngine, FilePath) async throws(EngineError) -> UploadContent)

    /// A stream of chunks.
    static func stream<Chunks: AsyncSequence & Sendable>(of chunks: Chunks) -> UploadContentSource
    where Chunks.Element == [UInt8] {
        .stream { client, folder async throws(EngineError) in
            try await client.content(of: chunks, spooledIn: folder)
        }
    }

    /// Opens a file, hashes bytes, or spools a stream.
    func content(by client: TransferEngine, spooledIn folder: FilePath) async throws(EngineError) -> UploadContent {
        switch self {
        case .file(let path): try await client.content(of: FilePath(checked: path))
        case .memory(let bytes): try await client.content(of: bytes)
        case .stream(let spool): try await spool(client, folder)
        }
    }

    /// The file path for a token.
    var file: String {
        switch self {
        case .file(let path): path
        case .memory, .stream: ""
        }
    }
}

extension TransferSession {
    /// Starts an upload.
    func upload(
        _ request: TransferRequest,
        _ source: UploadContentSource,
        stateFolder: String?,
        _ observer: (@Sendable (TransferStatus) -> Void)?
    ) -> UploadTransfer {
        let callbacks = callbacks(for: request, isForUpload: true)
        let opened = Mutex<UploadContent?>(nil)
        return Transfer(feed(for: request, observer)) { () async throws(TransferError) in
            try await discardUpload(request, source, opened.withLock { $0 }, stateFolder)
        } body: { feed throws(TransferError) in
            try await feed.wait(request.delay, token(for: request, source, nil, stateFolder))
            let client = client(for: request)
            let start = client.configuration.clock.now()
            let folder = configuration.isEphemeral ? nil : FilePath(try Self.folder(stateFolder))
            let given = try request.upload(rememberedIn: folder)
            let content: UploadContent
            do throws(EngineError) {
                try await client.check(given)
                content = try await source.content(by: client, spooledIn: folder ?? Self.temporaryFolder)
                opened.withLock { $0 = content }
            } catch {
                if case .stream = source { throw TransferError(keepingNothing: error) }
                throw TransferError(error, token(for: request, source, nil, stateFolder))
            }
            do throws(EngineError) {
                let withoutResource =
                    given.isRepeatable || given.method == .put
                    ? Resumability.startsOver(.noUploadResource) : .impossible(.notRepeatable)
                let summary = try await client.upload(content, given, callbacks: callbacks, startedAt: start) {
                    feed.note($0, withoutResource: withoutResource)
                }
                return UploadResult(summary)
            } catch {
                let token = token(for: request, source, content.sha256 ?? request.sha256, stateFolder)
                throw TransferError(error, token, feed.status.resumability)
            }
        }
    }

    /// Deletes an unfinished upload of `content`, or of what `source` has without it.
    func discardUpload(
        _ request: TransferRequest,
        _ source: UploadContentSource,
        _ content: UploadContent?,
        _ stateFolder: String?
    ) async throws(TransferError) {
        guard !configuration.isEphemeral else { return }
        let folder = FilePath(try Self.folder(stateFolder ?? configuration.stateFolder))
        let given = try request.upload(rememberedIn: folder)
        let client = client(for: request)
        if case .stream = source, content == nil { return }
        try await Self.discard { () async throws(EngineError) in
            let source = if let content { content } else { try await source.content(by: client, spooledIn: folder) }
            try await client.discardUpload(source, given)
        }
    }

    /// A token that resumes an upload; `nil` in an ephemeral session, and before a stream has been read.
    private func token(
        for request: TransferRequest,
        _ source: UploadContentSource,
        _ sha256: [UInt8]?,
        _ stateFolder: String?
    ) -> ResumptionToken? {
        guard !configuration.isEphemeral else { return nil }
        if case .stream = source, sha256 == nil { return nil }
        var request = request
        if let sha256 { request.sha256 = sha256 }
        let folder = try? Self.folder(stateFolder ?? configuration.stateFolder)
        return ResumptionToken(.upload, request, file: source.file, stateFolder: folder)
    }

    private static func folder(_ named: String?) throws(TransferError) -> String {
        if let named { absolute(named) } else { try defaultStateFolder() }
    }

    /// The spool folder of an ephemeral session. `/tmp` may be in memory.
    private static var temporaryFolder: FilePath {
        FilePath(ProcessInfo.processInfo.environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/var/tmp")
    }
}

extension TransferRequest {
    /// The engine's form of an upload request.
    fileprivate func upload(rememberedIn folder: FilePath?) throws(TransferError) -> UploadRequest {
        var given = UploadRequest(url: url, journalFolder: folder)
        if let method { given.method = method }
        given.dialects = dialects
        given.fields[.contentType] = try mediaType
        given.isRepeatable = isRepeatable
        given.sha256 = sha256
        given.credentials = try engineCredentials(isForUpload: true)
        return given
    }
}
