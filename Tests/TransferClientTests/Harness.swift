import Foundation
import HTTPTransport
import Synchronization
import SystemPackage
import TLSTransport
import TestStreams
import TransferClient
import TransferProtocol
import Units

/// A download to `file.bin` in a folder.
extension Folder {
    var destination: FilePath { FilePath(file("file.bin")) }
    var part: String { file(".file.bin.squall-part") }
    var journal: String { file(".file.bin.squall-journal") }
    var aside: String { file(".file.bin.squall-mismatch") }
    /// The bytes of the finished file, or `nil` when there is none.
    var file: [UInt8]? { bytes(of: "file.bin") }

    func bytes(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }

    func write(_ bytes: [UInt8], at path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}

/// A test download or upload: its result and events.
struct Attempted: Sendable {
    var result: Result<TransferSummary, TransferError>
    var events: [TransferEvent]
    /// The recorded backoff delays; none is actually waited for.
    var waits: [Duration]

    var summary: TransferSummary? { try? result.get() }
    var error: TransferError? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
    /// The host that TLS failed with, and the failure.
    var tlsRefusal: (host: String, failure: TLSFailure)? {
        if case .tlsRefused(let host, let failure) = error { (host, failure) } else { nil }
    }
    /// The refusal of credentials, and the use that the request made of them.
    var unauthorized: (challenge: HTTPChallenge, use: CredentialUse)? {
        if case .refused(.unauthorized(let challenge, let use)) = error { (challenge, use) } else { nil }
    }
    var restarts: [RestartReason] {
        events.compactMap { if case .restarted(let reason) = $0 { reason } else { nil } }
    }
    var transientFailures: [TransientFailure] {
        events.compactMap { if case .retrying(_, let cause, _) = $0 { cause } else { nil } }
    }
    var rules: [RetryRule] {
        events.compactMap { if case .retrying(_, _, let rule) = $0 { rule } else { nil } }
    }
    var resumedAt: [Int64] {
        events.compactMap { if case .resumed(let offset) = $0 { offset } else { nil } }
    }
}

extension TransferSummary {
    var verified: Set<DigestSource>? { download?.verified }
    var proof: DownloadProof? { download?.proof }
    var bytesCompared: Int64? { download?.bytesCompared }
    var finalURL: String? { download?.finalURL }
    var uploadProof: UploadProof? { upload?.proof }
    var status: Int? { upload?.response?.status }
    var dialect: Int? { upload?.dialect }
}

/// Transfers without real backoff. Clocks and other limits are the system's unless `configure` changes them.
func attempt(
    configure: (inout TransferClientConfiguration) -> Void,
    onEvent: @escaping @Sendable (TransferEvent) -> Void,
    _ transfer: (TransferEngine, @escaping @Sendable (TransferEvent) -> Void) async throws(TransferError) ->
        TransferSummary
) async -> Attempted {
    let events = Mutex<[TransferEvent]>([])
    let waits = Mutex<[Duration]>([])
    var configuration = TransferClientConfiguration()
    configuration.seed = 7
    configuration.tls = TLSClient(TLSClientSettings())
    configuration.clock.sleep = { duration in
        waits.withLock { $0.append(duration) }
        try Task.checkCancellation()
    }
    configure(&configuration)
    let result: Result<TransferSummary, TransferError>
    do throws(TransferError) {
        result = .success(
            try await transfer(TransferEngine(configuration: configuration)) { event in
                events.withLock { $0.append(event) }
                onEvent(event)
            }
        )
    } catch {
        result = .failure(error)
    }
    return Attempted(result: result, events: events.withLock { $0 }, waits: waits.withLock { $0 })
}

/// Downloads, with the wall clock at 08:49:37, and without a final confirmation request on slow machines.
func attempt(
    _ request: DownloadRequest,
    to destination: FilePath,
    callbacks: TransferCallbacks = TransferCallbacks(),
    configure: (inout TransferClientConfiguration) -> Void = { _ in },
    onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
) async -> Attempted {
    await attempt {
        $0.lateDigestInterval = .seconds(3_600)
        $0.clock.secondsSince1970 = { 784_111_777 }
        configure(&$0)
    } onEvent: {
        onEvent($0)
    } _: { (engine, report) throws(TransferError) in
        try await engine.download(request, to: destination, callbacks: callbacks, onEvent: report)
    }
}

/// Downloads a file from a server that answers as `respond` says, once.
func download(
    path: String = "/file.bin",
    expecting sha256: [UInt8]? = nil,
    requiresProof: Bool = false,
    callbacks: TransferCallbacks = TransferCallbacks(),
    into folder: Folder? = nil,
    _ respond: @escaping @Sendable (ReceivedRequest) -> [Step],
    configure: (inout TransferClientConfiguration) -> Void = { _ in },
    onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
) async throws -> (done: Attempted, folder: Folder, requests: [ReceivedRequest]) {
    let folder = try folder ?? Folder()
    return try await Script(respond).serve { server in
        let request = DownloadRequest(
            url: server.url(path),
            expectedSHA256: sha256,
            requiresProof: requiresProof
        )
        let done = await attempt(
            request,
            to: folder.destination,
            callbacks: callbacks,
            configure: configure,
            onEvent: onEvent
        )
        return (done, folder, server.requests)
    }
}
