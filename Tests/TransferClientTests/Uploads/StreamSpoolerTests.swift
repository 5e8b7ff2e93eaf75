import DurableFiles
import SimulatedDisk
import Synchronization
import SystemPackage
import Testing
import TransferProtocol

@testable import TransferClient

/// Spooling streams to unnamed files.
@Suite(.timeLimit(.minutes(5))) struct StreamSpoolerTests {
    private struct Broken: Error, CustomStringConvertible {
        var description = "the tape is torn"
    }

    private static let worker = FileWorker(pool: .singleton)

    private func spool(
        _ chunks: some AsyncSequence<[UInt8], any Error> & Sendable,
        limit: Int64 = .max,
        on files: any FileSystem
    ) async -> Result<HashedContent, TransferError> {
        do throws(TransferError) {
            return .success(try await StreamSpooler.spool(chunks, in: "/", limit: limit, files: files, Self.worker))
        } catch {
            return .failure(error)
        }
    }

    private func error(of result: Result<HashedContent, TransferError>) -> TransferError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test func `a stream can be read at any offset, and may be as long as the limit`() async throws {
        let bytes = uploadBytes(300_000)
        let disk = SimulatedDisk(seed: 1)
        let spool = try await spool(Chunks(of: bytes, 7_001), limit: 300_000, on: disk).get()
        #expect(spool.length == 300_000)
        #expect(try await spool.read(0..<300_000) == bytes[...])
        #expect(try await spool.read(70_000..<70_003) == bytes[70_000..<70_003])
        #expect(try disk.names(in: "/").isEmpty)
        #expect(
            error(of: await self.spool(Chunks(of: bytes, 7_001), limit: 299_999, on: disk))
                == .streamTooLong(limit: 299_999)
        )
    }

    @Test func `a chunk is requested once the previous ones are written`() async throws {
        for (length, most) in [(StreamSpooler.minimumWrite, 1), (100_000, 1), (StreamSpooler.minimumWrite / 8, 8)] {
            let chunks = Chunks(of: uploadBytes(2_000_000), length)
            let waiting = Mutex(0)
            let files = WatchedFiles(SimulatedDisk(seed: 1)) { written in
                waiting.withLock { $0 = max($0, chunks.given - written) }
            }
            let spool = try await spool(chunks, on: files).get()
            #expect(spool.length == 2_000_000)
            #expect(waiting.withLock { $0 } == most * length)
        }
    }

    @Test func `a stream that throws fails with its error`() async {
        let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.yield([1, 2, 3])
            continuation.finish(throwing: Broken())
        }
        let error = error(of: await spool(chunks, on: SimulatedDisk(seed: 1)))
        #expect(error == .streamFailed("the tape is torn"))
        #expect(error?.description == "the stream failed: the tape is torn")
        let long = AsyncThrowingStream<[UInt8], any Error> { continuation in
            continuation.finish(throwing: Broken(description: String(repeating: "x", count: 10_000)))
        }
        guard case .streamFailed(let words) = self.error(of: await spool(long, on: SimulatedDisk(seed: 1))) else {
            Issue.record("the stream came to its end")
            return
        }
        #expect(words.count == StreamSpooler.shownCharacters + 1 && words.hasSuffix("x…"))
    }

    @Test func `a full disk is an error of the file system`() async {
        // The first call opens the file.
        for call in [1, 2, 4] {
            let disk = SimulatedDisk(seed: 1, faults: .init(failures: [call: .noSpace]))
            let error = error(of: await spool(Chunks(of: uploadBytes(900_000), 100_000), on: disk))
            #expect(error == .fileSystem(call: call == 1 ? "open" : "pwrite", path: "/", .noSpace))
            #expect(error?.disposition == .resumable)
        }
    }

    @Test func `a disk that loses bytes causes an error, not a short content`() async throws {
        let disk = SimulatedDisk(seed: 1)
        let spool = try await spool(Chunks(of: uploadBytes(300_000), 100_000), on: disk).get()
        await #expect(throws: TransferError.fileSystem(call: "pread", path: "/", .ioError)) {
            try await spool.read(299_999..<300_001)
        }
    }

    @Test func `a stream that hears nothing is cancelled at once, and its file is closed`() async throws {
        let folder = try UploadFolder([])
        let (entered, entry) = AsyncStream<Void>.makeStream()
        let (blocked, release) = AsyncStream<Void>.makeStream()
        let chunks = DeafChunks(enters: entry, waitsFor: blocked)
        let running = Task {
            do throws(TransferError) {
                _ = try await TransferEngine().content(of: chunks, spooledIn: folder.journals)
                return nil as TransferError?
            } catch {
                return error
            }
        }
        for await _ in entered { break }
        #expect(folder.openFiles == 1)
        running.cancel()
        #expect(await running.value == .cancelled)
        #expect(folder.openFiles == 0)
        #expect(folder.journalNames.isEmpty)
        release.finish()
    }

    @Test func `a stream that ends because it is cancelled isn't complete`() async {
        let (chunks, giver) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        giver.yield([UInt8](repeating: 1, count: StreamSpooler.minimumWrite))
        let (writes, entry) = AsyncStream<Void>.makeStream()
        let files = WatchedFiles(SimulatedDisk(seed: 1)) { _ in entry.yield() }
        let running = Task { await spool(chunks, on: files) }
        for await _ in writes { break }
        running.cancel()
        #expect(error(of: await running.value) == .cancelled)
    }
}

/// Bytes in chunks of one length, produced on demand.
private final class Chunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    private let bytes: [UInt8]
    private let length: Int
    private let count = Mutex(0)

    init(of bytes: [UInt8], _ length: Int) {
        self.bytes = bytes
        self.length = length
    }

    /// The number of bytes produced.
    var given: Int { count.withLock { $0 } }

    struct Iterator: AsyncIteratorProtocol {
        let chunks: Chunks

        mutating func next() async throws -> [UInt8]? { chunks.next() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }

    private func next() -> [UInt8]? {
        count.withLock { count in
            guard count < bytes.count else { return nil }
            let chunk = bytes[count..<Swift.min(bytes.count, count + length)]
            count += chunk.count
            return Array(chunk)
        }
    }
}

/// A chunk, and then a wait that ignores cancellation.
private struct DeafChunks: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    let enters: AsyncStream<Void>.Continuation
    let waitsFor: AsyncStream<Void>

    struct Iterator: AsyncIteratorProtocol {
        let chunks: DeafChunks
        var isFirst = true

        mutating func next() async throws -> [UInt8]? {
            if isFirst {
                isFirst = false
                return [UInt8](repeating: 1, count: 100_000)
            }
            chunks.enters.yield()
            let stream = chunks.waitsFor
            await Task.detached { for await _ in stream {} }.value
            return [2]
        }
    }

    func makeAsyncIterator() -> Iterator { Iterator(chunks: self) }
}

/// A file system whose files report each write before it happens.
private struct WatchedFiles: FileSystem {
    let files: any FileSystem
    let beforeWrite: @Sendable (_ written: Int) -> Void

    init(_ files: any FileSystem, beforeWrite: @escaping @Sendable (_ written: Int) -> Void) {
        self.files = files
        self.beforeWrite = beforeWrite
    }

    func open(_ path: FilePath, _ mode: FileOpening) throws(FileError) -> any OpenFile {
        WatchedFile(file: try files.open(path, mode), beforeWrite: beforeWrite)
    }
    func rename(_ old: FilePath, to new: FilePath, replaces: Bool) throws(FileError) {
        try files.rename(old, to: new, replaces: replaces)
    }
    func remove(_ path: FilePath) throws(FileError) { try files.remove(path) }
    func makeFolder(_ path: FilePath) throws(FileError) { try files.makeFolder(path) }
    func names(in folder: FilePath) throws(FileError) -> [String] { try files.names(in: folder) }
    func kind(of path: FilePath) throws(FileError) -> FileKind? { try files.kind(of: path) }
    func synchronizeFolder(_ path: FilePath) throws(FileError) { try files.synchronizeFolder(path) }
}

private struct WatchedFile: OpenFile {
    let file: any OpenFile
    let beforeWrite: @Sendable (_ written: Int) -> Void

    func write(_ bytes: [UInt8], at offset: Int64) throws(FileError) {
        beforeWrite(Int(offset))
        try file.write(bytes, at: offset)
    }
    func read(_ count: Int, at offset: Int64) throws(FileError) -> [UInt8] { try file.read(count, at: offset) }
    func size() throws(FileError) -> Int64 { try file.size() }
    func resize(to size: Int64) throws(FileError) { try file.resize(to: size) }
    func dropCache() throws(FileError) { try file.dropCache() }
    func synchronizeData() throws(FileError) { try file.synchronizeData() }
    func hasName(_ path: FilePath) throws(FileError) -> Bool { try file.hasName(path) }
    func copyPermissions(of path: FilePath) throws(FileError) { try file.copyPermissions(of: path) }
    func lock() throws(FileError) { try file.lock() }
    func close() { file.close() }
}
