import DurableFiles
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TransferProtocol

/// A client for transfers that survive bad networks, over HTTP/1.1, and HTTP/2 where TLS negotiates it.
///
/// Holds no connections of transfers: any number of them may run concurrently, to different destinations.
public struct TransferEngine: Sendable {
    /// The configuration.
    public var configuration: TransferClientConfiguration { environment.configuration }
    let environment: TransferEnvironment
    var worker: FileWorker { environment.worker }
    private let numbers = TransferNumbers()

    /// Makes a client. Connections use `eventLoopGroup`; files are read and written on `threadPool`, which must be
    /// running. The caller owns both.
    public init(
        configuration: TransferClientConfiguration = TransferClientConfiguration(),
        eventLoopGroup: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        threadPool: NIOThreadPool = .singleton
    ) {
        self.init(TransferEnvironment(configuration, eventLoopGroup, threadPool))
    }

    init(_ environment: TransferEnvironment) { self.environment = environment }

    /// Downloads a file over as many connections as needed (RFC 9110, sections 13 to 15).
    ///
    /// An interrupted earlier run, even if killed, is resumed. A file at `destination` stays until the new one is complete
    /// and replaces it. After a digest mismatch it is fetched once more and no longer accepted without a digest; a file
    /// that stays wrong is moved to `.NAME.squall-mismatch`.
    ///
    /// - Parameters:
    ///   - request: The download request.
    ///   - destination: The destination; its folder must exist. Symbolic links are resolved once, at the start.
    ///   Anything but a regular file there is refused.
    ///   - callbacks: The caller's callbacks.
    ///   - onEvent: Called for each event, in order, on the download's task, which waits for it; it should return
    ///   quickly. Progress events are throttled.
    /// - Returns: A summary, once the file is complete, verified, durable and renamed.
    /// - Throws: A `TransferError`, whose `disposition` tells whether calling again resumes. A cancelled task throws
    ///   `.cancelled` once received bytes are durable.
    public func download(
        _ request: DownloadRequest,
        to destination: FilePath,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
    ) async throws(TransferError) -> TransferSummary {
        try await withinDeadline { () async throws(TransferError) in
            let url = try await preparedURL(request.url)
            if let expected = request.expectedSHA256, expected.count != 32 {
                throw .invalidDigest(count: expected.count)
            }
            let (file, recovered) = try await PartialFile.open(
                PartialFilePaths.following(destination, worker),
                for: url.text,
                in: environment.files,
                worker: worker
            )
            let session = DownloadSession(
                environment,
                request,
                url,
                file,
                recovered,
                callbacks.endingWithTask,
                seed: nextSeed(),
                onEvent: onEvent
            )
            return try await closing(file.close) { () async throws(TransferError) in
                try await session.run(after: recovered)
            }
        }
    }

    /// Removes the partial file of a download and its journal, unless another transfer has them.
    package func discardDownload(at destination: FilePath) async throws(TransferError) {
        let paths = try await PartialFilePaths.following(destination, worker)
        try await worker.run { [files = environment.files] in
            guard try files.kind(of: paths.data) != nil else { return }
            let file = try LockedFile.open(paths.data, in: files)
            defer { file.close() }
            try files.remove(paths.data)
            if try files.kind(of: paths.journal) != nil { try files.remove(paths.journal) }
        }
    }

    /// A client with the same configuration that doesn't use some networks.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the network to a host must not be used.
    ///   - waits: Whether transfers wait for another one.
    public func refusing(_ isRefused: @escaping @Sendable (_ host: String) -> Bool, waits: Bool) -> TransferEngine {
        var environment = environment
        environment.kept = KeptConnections(environment.kept.group)
        environment.configuration.refusesNetwork = isRefused
        if waits { environment.configuration.connectivity = RouteMonitor(refusing: isRefused) }
        return TransferEngine(environment)
    }

    /// Runs `body`, and then `close`, also after an error.
    @_semantics("optimize.sil.specialize.generic.never")
    func closing<Value>(
        _ close: () async -> Void,
        after body: () async throws(TransferError) -> Value
    ) async throws(TransferError) -> Value {
        do throws(TransferError) {
            let value = try await body()
            await close()
            return value
        } catch {
            await close()
            throw error
        }
    }

    /// A seed for the jitter of the next transfer, so that transfers that fail together don't retry together.
    func nextSeed() -> UInt64 { configuration.seed &+ numbers.next() &* 0x9E37_79B9_7F4A_7C15 }

    /// Parses a URL and, for `https`, loads the trusted authorities.
    func preparedURL(_ text: String) async throws(TransferError) -> TransferURL {
        let url = try TransferURL(checked: text)
        if url.scheme == .https { try await prepareTLS() }
        return url
    }

    /// Loads the trusted authorities before anything on disk changes.
    private func prepareTLS() async throws(TransferError) {
        guard let tls = configuration.tls else { throw .invalidTLSSettings(.unavailable) }
        try await worker.run {
            do throws(TLSSettingsProblem) {
                try tls.prepare()
            } catch {
                throw TransferError.invalidTLSSettings(error)
            }
        }
    }
}

/// Counts the transfers of a client.
private final class TransferNumbers: Sendable {
    private let last = Atomic<UInt64>(0)

    /// The next number, from 0.
    func next() -> UInt64 { last.add(1, ordering: .relaxed).oldValue }
}
