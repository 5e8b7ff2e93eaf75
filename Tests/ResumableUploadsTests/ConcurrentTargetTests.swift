import DurableFiles
import HTTPTypes
import SimulatedDisk
import SystemPackage
import TestStreams
import Testing
import TransferProtocol

@testable import ResumableUploads

/// Concurrent uploads to the same target.
@Suite(.timeLimit(.minutes(2))) struct ConcurrentTargetTests {
    /// The outcomes of concurrent uploads with distinct bytes, and the bytes of the target.
    private static func outcomes(count: Int, isOnlyNew: Bool) async throws -> ([UploadOutcome], [UInt8]) {
        let folder = try Folder()
        let store = FolderUploadBackend(
            try UploadStore(folder: FilePath(folder.path), in: SystemFiles()),
            threadCount: 4
        )
        var random = SystemRandomNumberGenerator()
        let tokens = (0..<count).map { _ in UploadToken(using: &random) }
        let record = UploadRecord(
            target: .file,
            dialect: .newest,
            length: 1,
            digest: nil,
            isOnlyNew: isOnlyNew,
            created: 0
        )
        for (number, token) in tokens.enumerated() {
            #expect(await store.result(of: .create(record, isDurable: true), for: token) == .done)
            #expect(await store.result(of: .append([UInt8(number)], offset: 0), for: token) == .done)
        }
        let outcomes = await withTaskGroup(of: UploadStoreResult.self) { group in
            for token in tokens { group.addTask { await store.result(of: .finish(digest: nil), for: token) } }
            return await group.reduce(into: [UploadOutcome]()) { outcomes, result in
                if case .finished(let outcome) = result { outcomes.append(outcome) }
            }
        }
        await store.shutDown()
        return (outcomes, try #require(folder.bytes(of: "file.bin")))
    }

    @Test func `one of several uploads creates a file that must be new`() async throws {
        for _ in 0..<5 {
            let (outcomes, bytes) = try await Self.outcomes(count: 8, isOnlyNew: true)
            #expect(outcomes.filter { $0.status == .created }.map(\.digest) == [bytes.digest])
            #expect(outcomes.filter { $0.status == .preconditionFailed }.count == 7)
        }
    }

    @Test func `one of several uploads creates a file, and the others replace it`() async throws {
        for _ in 0..<5 {
            let (outcomes, _) = try await Self.outcomes(count: 8, isOnlyNew: false)
            #expect(outcomes.filter { $0.status == .created }.count == 1)
            #expect(outcomes.filter { $0.status == .replaced }.count == 7)
        }
    }

    @Test(arguments: 1..<20)
    func `an upload whose completion failed doesn't replace a file created since`(call: Int) throws {
        let dialect = UploadWireFormat.newest
        var server = try SimulatedServer(seed: 1)
        try server.begin()
        var fields = dialect.fields(isComplete: true, length: 1)
        fields[.ifNoneMatch] = "*"
        server.request(1, .put, .target(.file), fields, contentLength: 1)
        server.settle()
        guard case .interim(_, let response)? = server.takeSent().first, let location = response.fields[.location],
            let token = UploadToken(location.dropFirst("/.uploads/".count))
        else { throw ScriptedUploader.Broken(reason: "no location") }
        server.handle(.content(UploadRequestID(1), [1]))
        server.settle()
        server.disk.setFaults(.init(failures: [server.disk.calls + call: .ioError]))
        server.handle(.contentEnded(UploadRequestID(1)))
        server.settle()
        server.disk.setFaults(.init())
        let other = try UploadTable.response(&server, 2, .put, .target(.file), [.ifNoneMatch: "*"], content: [2])
        let head = try UploadTable.response(&server, 3, .head, .upload(token), dialect.fields())
        let offset = try #require(dialect.decode(head.fields).offset)
        let append = dialect.fields(isComplete: true, offset: offset, isAppend: true)
        let rest = [UInt8]([1].dropFirst(Int(offset)))
        let own = try UploadTable.response(&server, 4, .patch, .upload(token), append, content: rest)
        #expect([own.status, other.status].sorted() == [201, 412])
        #expect(try server.file("file.bin") == (own.status == 201 ? [1] : [2]))
        server.stop()
        server.disk.restart(after: .process)
        try server.begin()
        #expect(try server.file("file.bin") == (own.status == 201 ? [1] : [2]))
    }
}

extension UploadBackend {
    /// Executes a command and returns its result.
    fileprivate func result(of command: UploadStoreCommand, for token: UploadToken) async -> UploadStoreResult {
        await withCheckedContinuation { continuation in
            perform(command, for: token) { continuation.resume(returning: $0) }
        }
    }
}
