internal import FoundationEssentials
internal import OperatingSystem
internal import SystemPackage
internal import TransferClient
internal import TransferProtocol

/// Starts transfers that survive bad networks.
///
/// ```swift
/// let session = TransferSession()
/// let transfer = session.download(for: TransferRequest("https://example.com/image.iso"), to: "image.iso")
/// for try await status in transfer { show(status.completedBytes, status.totalBytes) }
/// let result = try await transfer.value
/// ```
///
/// Any number of transfers may run concurrently, to different files, each over connections of its own. `data` and `bytes`
/// keep up to 16 connections for the next requests, each for 30 s.
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
    /// complete and replaces it. Each range repeats bytes that are held; parts are joined only where these are equal.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - file: The path of the destination; its folder must exist.
    ///   - observer: Called with each status, instead of the configuration's; the transfer waits for it.
    /// - Returns: The running transfer.
    public func download(
        for request: TransferRequest,
        to file: String,
        observer: (@Sendable (TransferStatus) -> Void)? = nil
    ) -> DownloadTransfer {
        let file = request.keepsPath ? file : Self.absolute(file)
        let provided = callbacks(for: request, isForUpload: false)
        let client = client(for: request)
        return Transfer(feed(for: request, observer)) { () async throws(TransferError) in
            try await Self.discard { () async throws(EngineError) in
                try await client.discardDownload(at: FilePath(checked: file))
            }
        } body: { feed throws(TransferError) in
            var callbacks = provided
            callbacks.onResumability = { reason in feed.update { $0.note(reason) } }
            let token =
                configuration.isEphemeral
                ? nil : ResumptionToken(.download, request, file: file, stateFolder: nil)
            try await feed.wait(request.delay, token)
            var given = DownloadRequest(
                url: request.url,
                expectedSHA256: request.sha256,
                requiresProof: request.requiresProof,
                storesCoded: request.storesCoded,
                credentials: try request.engineCredentials(isForUpload: false)
            )
            given.replacesFile = request.replacesFile
            do throws(EngineError) {
                let path = try FilePath(checked: file)
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
        return download(for: request, to: token.file, observer: observer)
    }

    /// Removes what an unfinished transfer keeps: the partial file of a download and its journal, or an unfinished upload of a
    /// file at the server, which is asked once, and its journal. Does nothing if there is nothing.
    ///
    /// - Parameters:
    ///   - token: The token of the transfer, which must not be running.
    ///   - adjust: Adds what a token lacks: headers and credentials.
    /// - Throws: A `TransferError`: `.invalidToken` for an upload from memory or of a stream, `.locked` while the transfer is
    ///   running, or `.fileSystem`.
    public func discard(_ token: ResumptionToken, adjust: (inout TransferRequest) -> Void = { _ in }) async throws {
        var request = token.request
        adjust(&request)
        switch token.direction {
        case .download:
            try await Self.discard { [client] () async throws(EngineError) in
                try await client.discardDownload(at: FilePath(checked: token.file))
            }
        case .upload:
            guard !token.file.isEmpty else { throw TransferError(.invalidToken, "the token has no file") }
            try await discardUpload(request, .file(Self.absolute(token.file)), nil, token.stateFolder)
        }
    }

    static func discard(_ body: () async throws(EngineError) -> Void) async throws(TransferError) {
        do throws(EngineError) {
            try await body()
        } catch {
            throw TransferError(error, nil)
        }
    }

    func feed(for request: TransferRequest, _ observer: (@Sendable (TransferStatus) -> Void)?) -> StatusFeed {
        StatusFeed(
            observer: observer ?? configuration.observer,
            onEvent: request.onEvent,
            logger: configuration.logger
        )
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

    /// The default state folder.
    static func defaultStateFolder() throws(TransferError) -> String {
        guard let state = UserFolders.state else {
            throw .invalidRequest("there is no home for the memory of unfinished uploads; name a stateFolder")
        }
        return state + "/squall-transfer"
    }
}
