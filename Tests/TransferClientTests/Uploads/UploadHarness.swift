import Foundation
import HTTPTypes
import Synchronization
import SystemPackage
import TLSTransport
import TransferClient
import TransferProtocol
import Units

/// A file to upload and a journal folder, removed after the test.
struct UploadFolder {
    let folder: TemporaryFolder

    init(_ bytes: [UInt8]) throws {
        folder = try TemporaryFolder()
        try folder.write(bytes, to: source.string)
    }

    var source: FilePath { FilePath(folder.path + "/source.bin") }
    var journals: FilePath { FilePath(folder.path + "/state/uploads") }
    /// The names of remaining journals.
    var journalNames: [String] { (try? FileManager.default.contentsOfDirectory(atPath: journals.string)) ?? [] }

    /// The number of files in the folder that this process has open, including unnamed ones.
    var openFiles: Int {
        let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        return numbers.count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(number)")
            return target?.hasPrefix(folder.path + "/") == true
        }
    }

    /// Whether no file stays open: the last reference to one may be that of a connection, which ends after the upload.
    func closesFiles() async -> Bool {
        let end = ContinuousClock.now + .seconds(30)
        while openFiles > 0, ContinuousClock.now < end { await Task.yield() }
        return openFiles == 0
    }

    func request(_ url: String, _ method: HTTPRequest.Method = .put) -> UploadRequest {
        var request = UploadRequest(url: url, journalFolder: journals)
        request.method = method
        return request
    }
}

/// The content of a test upload.
enum UploadKind: CaseIterable, Sendable {
    case file
    case memory
    case stream
}

/// A test upload: its result and events.
struct AttemptedUpload: Sendable {
    var result: Result<TransferSummary, TransferError>
    var events: [TransferEvent]

    var summary: TransferSummary? { try? result.get() }
    var error: TransferError? {
        switch result {
        case .success: nil
        case .failure(let error): error
        }
    }
    var resumedAt: [Int64] { events.compactMap { if case .resumed(let offset) = $0 { offset } else { nil } } }
    var restarts: [RestartReason] {
        events.compactMap { if case .restarted(let reason) = $0 { reason } else { nil } }
    }
}

/// Uploads without real backoff and with many attempts.
func upload(
    _ folder: UploadFolder,
    _ request: UploadRequest,
    from kind: UploadKind = .file,
    callbacks: TransferCallbacks = TransferCallbacks(),
    configure: (inout TransferClientConfiguration) -> Void = { _ in },
    onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
) async -> AttemptedUpload {
    let reported = Mutex<[TransferEvent]>([])
    var configuration = TransferClientConfiguration()
    configuration.tls = TLSClient(TLSClientSettings())
    configuration.seed = 7
    configuration.retry.maximumAttempts = 100
    configuration.clock.sleep = { _ in try Task.checkCancellation() }
    configure(&configuration)
    let client = TransferEngine(configuration: configuration)
    let result: Result<TransferSummary, TransferError>
    do throws(TransferError) {
        result = .success(
            try await client.upload(try await client.content(folder, kind), request, callbacks: callbacks) { event in
                reported.withLock { $0.append(event) }
                onEvent(event)
            }
        )
    } catch {
        result = .failure(error)
    }
    return AttemptedUpload(result: result, events: reported.withLock { $0 })
}

/// Uploads until the first failure; then cancels.
func interruptedUpload(_ folder: UploadFolder, _ request: UploadRequest) async -> AttemptedUpload {
    await upload(folder, request, cancelledOn: { if case .retrying = $0 { true } else { false } })
}

/// Uploads until an event of this kind; then cancels.
func upload(
    _ folder: UploadFolder,
    _ request: UploadRequest,
    from kind: UploadKind = .file,
    configure: @escaping @Sendable (inout TransferClientConfiguration) -> Void = { _ in },
    cancelledOn isLast: @escaping @Sendable (TransferEvent) -> Bool
) async -> AttemptedUpload {
    let task = Mutex<Task<AttemptedUpload, Never>?>(nil)
    let running = Task {
        await upload(
            folder,
            request,
            from: kind,
            configure: configure,
            onEvent: { if isLast($0) { task.withLock { $0?.cancel() } } }
        )
    }
    task.withLock { $0 = running }
    return await running.value
}

extension TransferEngine {
    /// The bytes of the folder's file as content of a kind.
    func content(_ folder: UploadFolder, _ kind: UploadKind) async throws(TransferError) -> UploadContent {
        let bytes = folder.folder.bytes(folder.source.string) ?? []
        return switch kind {
        case .file: try await content(of: folder.source)
        case .memory: try await content(of: bytes)
        case .stream: try await content(of: chunks(of: bytes), spooledIn: folder.journals)
        }
    }
}

/// A stream of bytes in chunks of various lengths, including empty ones.
func chunks(of bytes: [UInt8]) -> AsyncStream<[UInt8]> {
    AsyncStream { continuation in
        var rest = bytes[...]
        for length in sequence(first: 0, next: { ($0 * 3 + 1) % 200_003 }) {
            continuation.yield(Array(rest.prefix(length)))
            rest = rest.dropFirst(length)
            if rest.isEmpty { break }
        }
        continuation.finish()
    }
}

/// Bytes that depend on their position.
func uploadBytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) &* 31 ^ ($0 >> 16) &* 17) }
}

/// A cut of each connection after 1 to `most` bytes, by its ordinal.
func cuts(seed: UInt64, most: Int) -> @Sendable (Int) -> Int? {
    { ordinal in 1 + Int(RandomKey(seed: seed).adding(UInt64(ordinal)).draw(from: 0, through: Int64(most))) }
}
