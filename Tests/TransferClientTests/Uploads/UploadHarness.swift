import Foundation
import HTTPTypes
import Synchronization
import SystemPackage
import TLSTransport
import TestStreams
import TransferClient
import TransferProtocol
import Units

/// A file to upload and a journal folder, removed after the test.
struct UploadFolder {
    let folder: Folder

    init(_ bytes: [UInt8]) throws {
        folder = try Folder()
        try folder.write(bytes, at: source.string)
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
    func closesFiles() async -> Bool { await eventually { openFiles == 0 } }

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

/// Uploads without real backoff and with many attempts.
func upload(
    _ folder: UploadFolder,
    _ request: UploadRequest,
    from kind: UploadKind = .file,
    callbacks: TransferCallbacks = TransferCallbacks(),
    configure: (inout TransferClientConfiguration) -> Void = { _ in },
    onEvent: @escaping @Sendable (TransferEvent) -> Void = { _ in }
) async -> Attempted {
    await attempt {
        $0.retry.maximumAttempts = 100
        configure(&$0)
    } onEvent: {
        onEvent($0)
    } _: { (engine, report) throws(TransferError) in
        let content = try await engine.content(folder, kind)
        return try await engine.upload(content, request, callbacks: callbacks, onEvent: report)
    }
}

/// Uploads until the first failure; then cancels.
func interruptedUpload(_ folder: UploadFolder, _ request: UploadRequest) async -> Attempted {
    await upload(folder, request, cancelledOn: { if case .retrying = $0 { true } else { false } })
}

/// Uploads until an event of this kind; then cancels.
func upload(
    _ folder: UploadFolder,
    _ request: UploadRequest,
    from kind: UploadKind = .file,
    configure: @escaping @Sendable (inout TransferClientConfiguration) -> Void = { _ in },
    cancelledOn isLast: @escaping @Sendable (TransferEvent) -> Bool
) async -> Attempted {
    let task = Mutex<Task<Attempted, Never>?>(nil)
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

/// A cut of each connection after 1 to `most` bytes, by its ordinal.
func cuts(seed: UInt64, most: Int) -> @Sendable (Int) -> Int? {
    { ordinal in 1 + Int(RandomKey(seed: seed).adding(UInt64(ordinal)).draw(from: 0, through: Int64(most))) }
}
