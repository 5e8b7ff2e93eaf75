import Digests
import DurableFiles
import HTTPSemantics
import HTTPTypes
import SimulatedDisk
import SystemPackage
import TestStreams
import TransferProtocol
import Units

@testable import ResumableUploads

/// An upload server on a simulated disk: the core, the store, and its pending commands.
struct SimulatedServer {
    static let folder = FilePath("/up")

    let disk: SimulatedDisk
    var policy = UploadPolicy()
    var now = UploadInstant(elapsed: .zero, wall: 1_800_000_000)
    /// Everything sent to clients, oldest first.
    var sent: [UploadServerAction] = []
    private var core: UploadRegistry?
    private var store: UploadStore?
    private var commands: [(UploadToken, UploadStoreCommand)] = []
    private var random: SeededGenerator

    init(seed: UInt64) throws {
        disk = try SimulatedDisk(seed: seed, folders: SimulatedServer.folder)
        random = SeededGenerator(seed: seed ^ 0x5EED)
    }

    var isRunning: Bool { core != nil }
    var isBusy: Bool { !commands.isEmpty }
    var count: Int { core?.count ?? 0 }
    func isCurrent(_ id: UInt64) -> Bool { core?.upload(of: UploadRequestID(id)) != nil }

    /// Starts the server; `false` if the machine crashes meanwhile.
    mutating func start() -> Bool {
        do {
            // The tag is the length of the file.
            let store = try UploadStore(folder: SimulatedServer.folder, in: disk) { [disk] path in
                guard let file = try? disk.open(path, .reading), let size = try? file.size() else { return nil }
                return EntityTag("\"\(size)\"")
            }
            self.store = store
            let found = try store.recover()
            core = UploadRegistry(policy: policy, recovered: found, now: now) { "/.uploads/\($0)" }
        } catch {
            stop()
        }
        return isRunning && !disk.isStopped
    }

    /// Starts the server on a working machine.
    mutating func begin() throws {
        guard start() else { throw ScriptedUploader.Broken(reason: "the server didn't start") }
    }

    /// Discards all in-memory state of the process.
    mutating func stop() {
        core = nil
        // A killed process releases its locks too.
        store?.close()
        store = nil
        commands = []
        sent = []
    }

    mutating func handle(_ event: UploadRegistry.Event) {
        guard var core else { return }
        self.core = nil
        let actions = core.handle(event, at: now)
        self.core = core
        for action in actions {
            if case .store(let token, let command) = action {
                commands.append((token, command))
            } else {
                sent.append(action)
            }
        }
    }

    /// Sends a request and returns its ID.
    mutating func request(
        _ id: UInt64,
        _ method: HTTPRequest.Method,
        _ resource: UploadRequestHead.Resource,
        _ fields: HTTPFields,
        contentLength: Int64?
    ) {
        let request = UploadRequestHead(
            resource: resource,
            method: method,
            fields: fields,
            contentLength: contentLength
        )
        handle(.request(UploadRequestID(id), request, token: UploadToken(using: &random)))
    }

    /// Executes the store's next command.
    mutating func advance() {
        guard let store, !commands.isEmpty else { return }
        let (token, command) = commands.removeFirst()
        let result = store.perform(command, for: token)
        guard !disk.isStopped else { return }
        handle(.stored(token, result))
    }

    /// Executes all commands of the store.
    mutating func settle() {
        while isBusy, !disk.isStopped { advance() }
    }

    /// Everything sent since the last call.
    mutating func takeSent() -> [UploadServerAction] {
        defer { sent = [] }
        return sent
    }

    /// The bytes of a complete file; `nil` where there is none.
    func file(_ name: String) throws -> [UInt8]? { try disk.bytes(of: SimulatedServer.folder.appending(name)) }
}

extension UploadTarget {
    static let file = UploadTarget(name: "file.bin", location: "/file.bin")
}

extension UploadWireFormat {
    /// The fields of a request in this dialect.
    func fields(
        isComplete: Bool? = nil,
        offset: Int64? = nil,
        length: Int64? = nil,
        isAppend: Bool = false
    ) -> HTTPFields {
        var fields: HTTPFields = [.uploadDraftInteropVersion: interopVersion.description]
        self.encode(UploadFields(isComplete: isComplete, offset: offset, length: length), into: &fields)
        if isAppend, let type = rules.appendMediaType { fields[.contentType] = type }
        return fields
    }
}

extension [UInt8] {
    /// `count` bytes that depend on their position.
    static func numbered(_ count: Int, seed: UInt64 = 0) -> [UInt8] {
        testBytes(count, seed: seed &+ 77)
    }

    var digest: ReprDigest {
        guard let digest = ReprDigest(sha256: SHA256.hash(self)) else { preconditionFailure("32 bytes") }
        return digest
    }
}
