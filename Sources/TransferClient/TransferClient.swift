import DurableFiles
import HTTPTransport
import NIOCore
import NIOPosix
import Synchronization
import SystemPackage
import TransferProtocol

/// A client for transfers that survive bad networks: by HTTP/1.1, and over TLS by HTTP/2 with servers that know it.
///
/// A value without connections of its own: any number of transfers may run at once, to different destinations.
public struct TransferClient: Sendable {
    /// Its limits and habits.
    public let configuration: TransferClientConfiguration
    let eventLoopGroup: any EventLoopGroup
    let threadPool: NIOThreadPool
    let tls: TLSClient
    private let numbers = TransferNumbers()

    /// Makes a client. Connections live on `eventLoopGroup`; files are read and written on the threads of `threadPool`,
    /// which must be running. Both belong to the caller.
    public init(
        configuration: TransferClientConfiguration = TransferClientConfiguration(),
        eventLoopGroup: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        threadPool: NIOThreadPool = .singleton
    ) {
        self.configuration = configuration
        self.eventLoopGroup = eventLoopGroup
        self.threadPool = threadPool
        tls = TLSClient(configuration.tls)
    }

    /// Downloads a file, through as many connections as it takes (RFC 9110, sections 13 to 15).
    ///
    /// The bytes grow in `.NAME.squall-part` beside `destination`, with a journal in `.NAME.squall-journal`. An earlier
    /// run that was interrupted, killed included, is continued. A file at `destination` stays until the new one is
    /// complete, and is then replaced. Parts are only ever joined under one strong validator (section 13.1.5); a server
    /// that sends none, or leaves its tag out of a 206, makes the download start over. From another URL than before the rest
    /// has to repeat the last 64 KiB as well. What is held stays until a response has come that takes its place. Where the server sends
    /// `Repr-Digest` (RFC 9530), or the caller names a digest, the file is checked; after a mismatch it is fetched once
    /// more, and isn't believed without a digest then; a file that stays wrong is moved to `.NAME.squall-mismatch`.
    ///
    /// - Parameters:
    ///   - request: What to download.
    ///   - destination: The file to be; its folder must exist. A link is followed once, at the start, and everything lies
    ///     where it leads. What is no regular file there is refused.
    ///   - callbacks: The questions that it asks on the way.
    ///   - onEvent: Called for each event, in order, on the task of the download, which waits for it; it should return
    ///     soon. Progress is reported now and then, everything else always.
    /// - Returns: What it took, once the file is complete, checked, on the disk and in its place.
    /// - Throws: A `DownloadError`, whose `disposition` tells whether calling again continues. A cancelled task throws
    ///   `.cancelled` once what is held is on the disk.
    public func download(
        _ request: DownloadRequest,
        to destination: FilePath,
        callbacks: TransferCallbacks = TransferCallbacks(),
        onEvent: @escaping @Sendable (DownloadEvent) -> Void = { _ in }
    ) async throws(DownloadError) -> DownloadSummary {
        let url = try await preparedURL(request.url)
        if let expected = request.expectedSHA256, expected.count != 32 { throw .invalidDigest(count: expected.count) }
        let worker = FileWorker(pool: threadPool)
        let (file, remains) = try await PartialFile.open(
            PartialFilePaths.following(destination, worker),
            for: url.text,
            in: SystemFiles(),
            worker: worker
        )
        let requirement = HTTP1Requirement()
        var surroundings = DownloadSurroundings(configuration: configuration, seed: nextSeed()) { [self] remaining in
            DownloadExchange(
                configuration,
                group: eventLoopGroup,
                tls: tls,
                remaining: remaining,
                requirement: requirement
            )
        }
        surroundings.callbacks = callbacks
        let session = DownloadSession(surroundings, request, url, file, remains, onEvent: onEvent)
        do throws(DownloadError) {
            let summary = try await session.run(after: remains)
            await file.close()
            return summary
        } catch {
            await file.close()
            throw error
        }
    }

    /// A seed for the waits of the next transfer. Those that fail together don't try again together.
    func nextSeed() -> UInt64 { configuration.seed &+ numbers.next() &* 0x9E37_79B9_7F4A_7C15 }

    /// Reads a URL, and for `https` the authorities.
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

    /// Reads the authorities that are trusted, before anything is changed on the disk.
    private func prepareTLS() async throws(DownloadError) {
        let result = try? await threadPool.runIfActive { [tls] () -> TLSSettingsProblem? in
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

    /// 0 for the first transfer, and one more for each.
    func next() -> UInt64 { last.add(1, ordering: .relaxed).oldValue }
}
