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
/// Holds no connections: any number of transfers may run concurrently, to different files.
public struct TransferSession: Sendable {
    /// A session with the default configuration.
    public static let shared = TransferSession()

    /// The configuration.
    public let configuration: TransferConfiguration
    let client: TransferEngine
    let credentialCache = CredentialCache()

    /// Makes a session.
    public init(configuration: TransferConfiguration = TransferConfiguration()) {
        self.configuration = configuration
        client = TransferEngine(configuration: configuration.engine)
    }

    /// Downloads a file over as many connections as needed (RFC 9110, sections 13 to 15).
    ///
    /// The bytes are written to `.NAME.squall-part` next to the file, with a journal in `.NAME.squall-journal`. An
    /// interrupted earlier transfer, even of a killed process, is resumed. A file at `file` stays until the new one is
    /// complete and replaces it. Ranges are combined only under one strong validator (RFC 9110, section 13.1.5).
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - file: The path of the destination; its folder must exist.
    ///   - observer: Called with each status, instead of the configuration's; on the transfer's task, which waits for
    ///   it.
    /// - Returns: The running transfer.
    public func download(
        _ request: TransferRequest,
        to file: String,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> DownloadTransfer {
        let file = Self.absolute(file)
        let provided = callbacks(for: request, isForUpload: false)
        return Transfer(StatusFeed(observer: observer ?? configuration.observer)) { feed throws(TransferError) in
            var callbacks = provided
            callbacks.onResumability = { reason in feed.update { $0.note(reason) } }
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
            do throws(EngineError) {
                let path = FilePath(file)
                let client = client(for: request)
                let summary = try await client.download(given, to: path, callbacks: callbacks) { feed.note($0) }
                return DownloadResult(summary, file: file)
            } catch {
                throw TransferError(error, token, feed.status.resumability)
            }
        }
    }

    /// Resumes a download.
    ///
    /// - Parameters:
    ///   - token: The token of an earlier transfer.
    ///   - adjust: Adds what a token lacks, headers and credentials, or a new URL for an expired one.
    ///   - observer: Called with each status, instead of the configuration's.
    /// - Returns: The running transfer.
    /// - Throws: A `TransferError` with the code `.invalidToken` when the token is an upload's.
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

    /// The client for a request: one that refuses networks of a cost that the request doesn't allow.
    func client(for request: TransferRequest) -> TransferEngine {
        var refused: NetworkCost = []
        if !request.allowsExpensive { refused.insert(.expensive) }
        if !request.allowsConstrained { refused.insert(.constrained) }
        guard !refused.isEmpty else { return client }
        let cost = configuration.networkCost ?? { RouteMonitor().usesMobileBroadband(to: $0) ? .expensive : [] }
        let isRefused = { @Sendable [refused] host in !refused.isDisjoint(with: cost(host)) }
        return client.refusing(isRefused, waits: configuration.waitsForConnectivity)
    }

    /// A path that doesn't depend on the working directory.
    static func absolute(_ path: String) -> String {
        guard !path.isEmpty, !path.hasPrefix("/") else { return path }
        return FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The default state folder. The XDG specification ignores relative paths.
    static func defaultStateFolder() throws(TransferError) -> String {
        let environment = ProcessInfo.processInfo.environment
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/squall-transfer" }
        if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.local/state/squall-transfer" }
        throw .invalidRequest("there is no home for the memory of unfinished uploads; name a stateFolder")
    }
}
