internal import FoundationEssentials
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
    ///   - file: The path of the destination file; its folder must exist.
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
            let token =
                configuration.isEphemeral
                ? nil : ResumptionToken(.download, request, file: file, stateFolder: nil)
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

    /// A path that stays the same when the process changes its folder.
    static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/") else { return path }
        return FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The folder of unfinished uploads of whoever names none. The XDG specification has relative paths ignored.
    static func defaultStateFolder() throws(TransferError) -> String {
        let environment = ProcessInfo.processInfo.environment
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/squall-transfer" }
        if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.local/state/squall-transfer" }
        throw .invalidRequest("there is no home for the memory of unfinished uploads; name a stateFolder")
    }
}
