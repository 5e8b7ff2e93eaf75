import Foundation
import Synchronization
import SystemPackage
import TLSTransport
import TransferClient
import TransferProtocol
import Units

/// A folder that is removed after the test.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "squall-client-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var destination: FilePath { FilePath(path + "/file.bin") }
    var part: String { path + "/.file.bin.squall-part" }
    var journal: String { path + "/.file.bin.squall-journal" }
    var aside: String { path + "/.file.bin.squall-mismatch" }
    /// The names in the folder, sorted.
    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    func bytes(_ path: String) -> [UInt8]? { FileManager.default.contents(atPath: path).map { Array($0) } }
    /// The bytes of the finished file, or `nil` when there is none.
    var file: [UInt8]? { bytes(destination.string) }

    func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }
}

/// A test download: its result and events.
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

/// Downloads without real backoff, and without a final confirmation request on slow machines. Clocks and other limits
/// are the system's unless `configure` changes them.
func attempt(
    _ request: DownloadRequest,
    to destination: FilePath,
    callbacks: TransferCallbacks = TransferCallbacks(),
    configure: (inout TransferClientConfiguration) -> Void = { _ in },
    onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
) async -> Attempted {
    let reported = EventRecorder()
    var configuration = TransferClientConfiguration()
    configuration.seed = 7
    configuration.lateDigestInterval = .seconds(3_600)
    configuration.tls = TLSClient(TLSClientSettings())
    configuration.clock.sleep = { duration in
        reported.waits.withLock { $0.append(duration) }
        try Task.checkCancellation()
    }
    configuration.clock.secondsSince1970 = { 784_111_777 }
    configure(&configuration)
    let client = TransferEngine(configuration: configuration)
    let result: Result<TransferSummary, TransferError>
    do throws(TransferError) {
        result = .success(
            try await client.download(request, to: destination, callbacks: callbacks) { event in
                reported.events.withLock { $0.append(event) }
                onEvent(event)
            }
        )
    } catch {
        result = .failure(error)
    }
    return Attempted(
        result: result,
        events: reported.events.withLock { $0 },
        waits: reported.waits.withLock { $0 }
    )
}

private final class EventRecorder: Sendable {
    let events = Mutex<[TransferEvent]>([])
    let waits = Mutex<[Duration]>([])
}
