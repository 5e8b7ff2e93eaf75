import Digests
import DurableFiles
import SimulatedDisk
import Synchronization
import SystemPackage
import Testing
import TransferProtocol

@testable import TransferClient

/// The final rename of a complete file, with failures and crashes.
@Suite struct LastStepTests {
    private static let folder = FilePath("/d")
    private static let file = FilePath("/d/file")

    /// A reliable server without validators and digests.
    private static func peer(framing: Int) -> SimulatedPeer {
        var habits = SimulatedPeer.Habits()
        habits.tag = 2
        habits.hasDate = false
        habits.framing = framing
        habits.faults = 0
        var seed: UInt64 = 1
        var peer = SimulatedPeer(seed: seed, habits: habits, largest: 12_000, calm: 0)
        while peer.versions[0].count < 4_000 {
            seed += 1
            peer = SimulatedPeer(seed: seed, habits: habits, largest: 12_000, calm: 0)
        }
        return peer
    }

    /// One run of the client.
    private func download(
        _ peer: SimulatedPeer,
        on files: any FileSystem,
        expecting sha256: [UInt8]? = nil
    ) throws -> Result<TransferSummary, TransferError> {
        let executor = SimulatedExecutor(seed: 1)
        var configuration = TransferClientConfiguration()
        configuration.checkpointBytes = .mebibytes(1)
        configuration.checkpointInterval = .seconds(3_600)
        let environment = TransferEnvironment(
            configuration,
            connections: SimulatedConnections(peer: peer),
            files: files,
            executor: executor
        )
        let text = "http://host.example/file"
        let url = try TransferURL(text)
        let result = executor.run { () async -> Result<TransferSummary, TransferError> in
            do throws(TransferError) {
                let paths = try PartialFilePaths(destination: Self.file)
                let worker = FileWorker(pool: nil)
                let (file, recovered) = try await PartialFile.open(paths, for: text, in: files, worker: worker)
                let request = DownloadRequest(url: text, expectedSHA256: sha256)
                let session = DownloadSession(environment, request, url, file, recovered, seed: 1) { _ in }
                let result: Result<TransferSummary, TransferError>
                do throws(TransferError) {
                    result = .success(try await session.run(after: recovered))
                } catch {
                    result = .failure(error)
                }
                await file.close()
                return result
            } catch {
                return .failure(error)
            }
        }
        return try #require(result)
    }

    /// A file with a length, and one delimited by the connection. Without a validator no range can fetch the rest.
    @Test(arguments: [(0, UnverifiedReason.oneResponse), (2, .lengthUnknown)])
    func `a complete file without its final name survives a power cut with its state`(
        framing: Int,
        doubt: UnverifiedReason
    ) throws {
        let disk = try SimulatedDisk(seed: 3, folders: Self.folder)
        let peer = Self.peer(framing: framing)
        let error = FileError(call: "rename", path: Self.file, errno: .ioError)
        disk.beforeCalls { (call, path, _) throws(FileError) in
            if call == "rename", path == Self.file { throw error }
        }
        #expect(throws: TransferError.self) { try download(peer, on: disk).get() }
        disk.restart(after: .power)
        let unreachable = SimulatedPeer(seed: 1, habits: peer.habits, largest: 0, calm: 0)
        let done = try download(unreachable, on: disk).get()
        #expect(done.connections == 0)
        #expect(done.bytesRecovered == Int64(peer.versions[0].count))
        #expect(done.proof == .none(doubt))
        #expect(try disk.bytes(of: Self.file) == peer.versions[0])
    }

    @Test func `a folder that can't be synchronized after the last step fails the run, and the file stays`() throws {
        let disk = try SimulatedDisk(seed: 3, folders: Self.folder)
        let peer = Self.peer(framing: 0)
        let isNamed = Atomic(false)
        let isRequested = Atomic(false)
        disk.beforeCalls { (call, path, _) throws(FileError) in
            if call == "rename", path == Self.file { isNamed.store(true, ordering: .relaxed) }
            guard call == "fsync", isNamed.load(ordering: .relaxed) else { return }
            isRequested.store(true, ordering: .relaxed)
            throw FileError(call: call, path: path, errno: .ioError)
        }
        let error = #expect(throws: TransferError.self) { try download(peer, on: disk).get() }
        #expect(error == .fileSystem(call: "fsync", path: Self.folder.string, .ioError))
        let wasRequested = isRequested.load(ordering: .relaxed)
        #expect(wasRequested)
        #expect(try disk.bytes(of: Self.file) == peer.versions[0])
        #expect(try disk.names(in: Self.folder) == [".file.squall-journal", "file"])
    }

    /// What a power cut loses depends on the seed.
    @Test(arguments: UInt64(1)...8)
    func `a complete file whose rename no sync followed is durable after the next run`(seed: UInt64) throws {
        let disk = try SimulatedDisk(seed: seed, folders: Self.folder)
        let peer = Self.peer(framing: 0)
        let sha256 = SHA256.hash(peer.versions[0])
        let isNamed = Atomic(false)
        disk.beforeCalls { (call, path, _) throws(FileError) in
            if isNamed.load(ordering: .relaxed) { throw FileError(call: call, path: path, errno: .ioError) }
            if call == "rename", path == Self.file { isNamed.store(true, ordering: .relaxed) }
        }
        _ = try download(peer, on: disk, expecting: sha256)
        disk.restart(after: .process)
        let done = try download(peer, on: disk, expecting: sha256).get()
        #expect(done.connections == 0)
        disk.restart(after: .power)
        #expect(try disk.bytes(of: Self.file) == peer.versions[0])
    }

    @Test(arguments: UInt64(1)...8)
    func `a complete file of another program is durable after the next run`(seed: UInt64) throws {
        let disk = try SimulatedDisk(seed: seed, folders: Self.folder)
        let peer = Self.peer(framing: 0)
        let other = try disk.open(Self.file, .creating)
        try other.write(peer.versions[0], at: 0)
        other.close()
        let done = try download(peer, on: disk, expecting: SHA256.hash(peer.versions[0])).get()
        #expect(done.connections == 0)
        disk.restart(after: .power)
        #expect(try disk.bytes(of: Self.file) == peer.versions[0])
    }

    @Test func `a file that is complete only in memory, after a failed sync, is fetched again`() throws {
        let disk = try SimulatedDisk(seed: 3, folders: Self.folder)
        let peer = Self.peer(framing: 0)
        let other = try disk.open(Self.file, .creating)
        try other.write(peer.versions[0], at: 0)
        disk.setFaults(SimulatedDisk.Faults(failures: [disk.calls + 1: .ioError]))
        #expect(throws: FileError.self) { try other.synchronizeData() }
        disk.setFaults(SimulatedDisk.Faults())
        other.close()
        let done = try download(peer, on: disk, expecting: SHA256.hash(peer.versions[0])).get()
        #expect(done.connections == 1)
        disk.restart(after: .power)
        #expect(try disk.bytes(of: Self.file) == peer.versions[0])
    }
}
