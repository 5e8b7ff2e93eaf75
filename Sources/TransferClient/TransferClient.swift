import DurableFiles
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TransferProtocol

/// A client for transfers that survive bad networks, over HTTP/1.1, and HTTP/2 where TLS negotiates it.
///
/// Holds no connections: any number of transfers may run concurrently, to different destinations.
public struct TransferClient: Sendable {
    /// The configuration.
    public let configuration: TransferClientConfiguration
    let eventLoopGroup: any EventLoopGroup
    let threadPool: NIOThreadPool
    private let numbers = TransferNumbers()

    /// Makes a client. Connections use `eventLoopGroup`; files are read and written on `threadPool`, which must be
    /// running. The caller owns both.
    public init(
        configuration: TransferClientConfiguration = TransferClientConfiguration(),
        eventLoopGroup: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        threadPool: NIOThreadPool = .singleton
    ) {
        self.configuration = configuration
        self.eventLoopGroup = eventLoopGroup
        self.threadPool = threadPool
    }

    /// Downloads a file over as many connections as needed (RFC 9110, sections 13 to 15).
    ///
    /// The bytes are written to `.NAME.squall-part` next to `destination`, with a journal in `.NAME.squall-journal`. An
    /// interrupted earlier run, even if killed, is resumed. A file at `destination` stays until the new one is complete
    /// and replaces it. Ranges are combined under one strong validator (section 13.1.5), or where they repeat the last
    /// received bytes; after a broken connection they always repeat some. Received bytes stay until a response replaces them. The file is verified against
    /// the server's `Repr-Digest` (RFC 9530) and the caller's digest; after a mismatch it is fetched once more and no
    /// longer accepted without a digest. A file that stays wrong is moved to `.NAME.squall-mismatch`.
    ///
    /// - Parameters:
    ///   - request: The download request.
    ///   - destination: The destination; its folder must exist. Symbolic links are resolved once, at the start.
    ///   Anything but a regular file there is refused.
    ///   - callbacks: The caller's callbacks.
    ///   - onEvent: Called for each event, in order, on the download's task, which waits for it; it should return
    ///   quickly. Progress events are throttled.
    /// - Returns: A summary, once the file is complete, verified, durable and renamed.
    /// - Throws: A `DownloadError`, whose `disposition` tells whether calling again resumes. A cancelled task throws
    ///   `.cancelled` once received bytes are durable.
    public func download(
        _ request: DownloadRequest,
        to destination: FilePath,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws(DownloadError) -> DownloadSummary {
        try await withinDeadline { () async throws(DownloadError) in
            try await downloadToTheEnd(request, to: destination, callbacks, onEvent)
        }
    }

    private func downloadToTheEnd(
        _ request: DownloadRequest,
        to destination: FilePath,
        _ callbacks: TransferCallbacks,
        _ onEvent: @escaping @Sendable (DownloadEvent) -> Void
    ) async throws(DownloadError) -> DownloadSummary {
        let url = try await preparedURL(request.url)
        if let expected = request.expectedSHA256, expected.count != 32 { throw .invalidDigest(count: expected.count) }
        let worker = FileWorker(pool: threadPool)
        let (file, recovered) = try await PartialFile.open(
            PartialFilePaths.following(destination, worker),
            for: url.text,
            in: SystemFiles(),
            worker: worker
        )
        let requirement = HTTP1Requirement()
        var environment = DownloadEnvironment(configuration: configuration, seed: nextSeed()) { [self] remaining in
            HTTPAttempt(
                configuration,
                group: eventLoopGroup,
                remaining: remaining,
                requirement: requirement
            )
        }
        environment.callbacks = callbacks.endingWithTask
        let session = DownloadSession(environment, request, url, file, recovered, onEvent: onEvent)
        do throws(DownloadError) {
            let summary = try await session.run(after: recovered)
            await file.close()
            return summary
        } catch {
            await file.close()
            throw error
        }
    }

    /// A client with the same configuration that doesn't use some networks.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the network to a host must not be used.
    ///   - waits: Whether transfers wait for another one.
    public func refusing(_ isRefused: @escaping @Sendable (_ host: String) -> Bool, waits: Bool) -> TransferClient {
        var configuration = configuration
        configuration.refusesNetwork = isRefused
        if waits { configuration.connectivity = RouteMonitor(refusing: isRefused) }
        return TransferClient(configuration: configuration, eventLoopGroup: eventLoopGroup, threadPool: threadPool)
    }

    /// A seed for the jitter of the next transfer, so that transfers that fail together don't retry together.
    func nextSeed() -> UInt64 { configuration.seed &+ numbers.next() &* 0x9E37_79B9_7F4A_7C15 }

    /// Parses a URL and, for `https`, loads the trusted authorities.
    func preparedURL(_ text: String) async throws(DownloadError) -> DownloadURL {
        let url: DownloadURL
        do throws(DownloadURLProblem) {
            url = try DownloadURL(text)
        } catch {
            throw .invalidURL(text, error)
        }
        if url.scheme == .https { try await prepareTLS() }
        return url
    }

    /// Loads the trusted authorities before anything on disk changes.
    private func prepareTLS() async throws(DownloadError) {
        guard let tls = configuration.tls else { throw .invalidTLSSettings(.unavailable) }
        let result = try? await threadPool.runIfActive { () -> TLSSettingsProblem? in
            do throws(TLSSettingsProblem) {
                try tls.prepare()
                return nil
            } catch {
                return error
            }
        }
        if let problem = result ?? nil { throw .invalidTLSSettings(problem) }
    }
}

/// Counts the transfers of a client.
private final class TransferNumbers: Sendable {
    private let last = Atomic<UInt64>(0)

    /// The next number, from 0.
    func next() -> UInt64 { last.add(1, ordering: .relaxed).oldValue }
}
