internal import FoundationEssentials
internal import HTTPTypes
internal import SystemPackage
internal import TransferClient
internal import TransferProtocol

/// Starts transfers that survive bad networks.
///
/// ```swift
/// let session = TransferSession()
/// let transfer = session.download(TransferRequest("https://example.com/image.iso"), to: "image.iso")
/// for try await status in transfer { show(status.completedBytes, status.totalBytes) }
/// let result = try await transfer.value
/// ```
///
/// A value without connections of its own: any number of transfers may run at once, to different files.
public struct TransferSession: Sendable {
    /// A session with the configuration of the defaults.
    public static let shared = TransferSession()

    /// Its limits and habits.
    public let configuration: TransferConfiguration
    let client: TransferClient
    let desk = CredentialDesk()

    /// Makes a session.
    public init(configuration: TransferConfiguration = TransferConfiguration()) {
        self.configuration = configuration
        client = TransferClient(configuration: configuration.engine)
    }

    /// Downloads a file, through as many connections as it takes (RFC 9110, sections 13 to 15).
    ///
    /// The bytes grow in `.NAME.squall-part` beside the file, with a journal in `.NAME.squall-journal`. An earlier transfer
    /// that was interrupted, killed included, is continued. What lies at `file` stays until the new one is complete, and
    /// is then replaced. Parts are only ever joined under one strong validator (RFC 9110, section 13.1.5).
    ///
    /// - Parameters:
    ///   - request: What to download.
    ///   - file: The path of the file to be; its folder must exist.
    ///   - observer: Told of every status, in place of the configuration's; on the transfer's task, which waits for it.
    /// - Returns: The transfer, which has begun.
    public func download(
        _ request: TransferRequest,
        to file: String,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> DownloadTransfer {
        let file = Self.absolute(file)
        let callbacks = callbacks(for: request, isForUpload: false)
        return Transfer(StatusFeed(observer: observer ?? configuration.observer)) { feed throws(TransferError) in
            let token = ResumptionToken(.download, request, file: file, stateFolder: nil)
            try await feed.wait(request.delay, token)
            let given = DownloadRequest(
                url: request.url,
                expectedSHA256: request.sha256,
                requiresProof: request.requiresProof,
                credentials: try request.downloadCredentials(isForUpload: false)
            )
            do throws(DownloadError) {
                let path = FilePath(file)
                let summary = try await client.download(given, to: path, callbacks: callbacks) { feed.note($0) }
                return DownloadResult(summary, file: file)
            } catch {
                throw TransferError(error, token)
            }
        }
    }

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
        upload(request, from: file, stateFolder: configuration.stateFolder, observer)
    }

    /// Goes on with a download.
    ///
    /// - Parameters:
    ///   - token: What an earlier transfer left.
    ///   - adjust: Puts in what no token has, headers and credentials, or the new URL of a file whose old one has expired.
    ///   - observer: Told of every status, in place of the configuration's.
    /// - Returns: The transfer, which has begun.
    /// - Throws: A `TransferError` with the code `.invalidToken`, when the token is an upload's.
    public func resumeDownload(
        _ token: ResumptionToken,
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> DownloadTransfer {
        guard token.direction == .download else { throw TransferError(.invalidToken, "the token is an upload's") }
        var request = token.request
        adjust(&request)
        return download(request, to: token.file, observer: observer)
    }

    /// Goes on with an upload.
    ///
    /// - Parameters:
    ///   - token: What an earlier transfer left.
    ///   - adjust: Puts in what no token has: headers and credentials. With another URL the upload begins anew.
    ///   - observer: Told of every status, in place of the configuration's.
    /// - Returns: The transfer, which has begun.
    /// - Throws: A `TransferError` with the code `.invalidToken`, when the token is a download's.
    public func resumeUpload(
        _ token: ResumptionToken,
        adjust: (inout TransferRequest) -> Void = { _ in },
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) throws -> UploadTransfer {
        guard token.direction == .upload else { throw TransferError(.invalidToken, "the token is a download's") }
        var request = token.request
        adjust(&request)
        return upload(request, from: token.file, stateFolder: token.stateFolder ?? configuration.stateFolder, observer)
    }

    private func upload(
        _ request: TransferRequest,
        from file: String,
        stateFolder: String?,
        _ observer: (@Sendable (TransferStatus) -> Void)?
    ) -> UploadTransfer {
        let file = Self.absolute(file)
        let callbacks = callbacks(for: request, isForUpload: true)
        return Transfer(StatusFeed(observer: observer ?? configuration.observer)) { feed throws(TransferError) in
            let token = ResumptionToken(.upload, request, file: file, stateFolder: stateFolder)
            try await feed.wait(request.delay, token)
            let folder = if let stateFolder { Self.absolute(stateFolder) } else { try Self.defaultStateFolder() }
            var given = UploadRequest(url: request.url, journalFolder: FilePath(folder))
            if let name = request.method {
                guard let method = HTTPRequest.Method(rawValue: name) else {
                    throw .invalidRequest("the method is no token")
                }
                given.method = method
            }
            guard TransferRequest.isValue(request.contentType) else {
                throw .invalidRequest("the media type has a control character")
            }
            given.fields[.contentType] = request.contentType
            given.isRepeatable = request.isRepeatable
            given.sha256 = request.sha256
            given.credentials = try request.downloadCredentials(isForUpload: true)
            do throws(UploadError) {
                let summary = try await client.upload(FilePath(file), given, callbacks: callbacks) { feed.note($0) }
                return UploadResult(summary)
            } catch {
                throw TransferError(error, token)
            }
        }
    }

    /// A path that stays the same when the process changes its folder.
    static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/") else { return path }
        return FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The folder of unfinished uploads of whoever names none. The XDG specification has relative paths ignored.
    private static func defaultStateFolder() throws(TransferError) -> String {
        let environment = ProcessInfo.processInfo.environment
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/squall-transfer" }
        if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.local/state/squall-transfer" }
        throw .invalidRequest("there is no home for the memory of unfinished uploads; name a stateFolder")
    }
}
