import DurableFiles
import SimulatedDisk
import Synchronization
import TestStreams
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

    /// Bytes in chunks of one length, produced on demand, and the number of bytes produced.
    private func chunks(of bytes: [UInt8], _ length: Int)
        -> (stream: AsyncThrowingStream<[UInt8], any Error>, given: @Sendable () -> Int)
    {
        let given = Mutex(0)
        let stream = AsyncThrowingStream<[UInt8], any Error> {
            given.withLock { count in
                guard count < bytes.count else { return nil }
                let chunk = bytes[count..<min(bytes.count, count + length)]
                count += chunk.count
                return Array(chunk)
            }
        }
        return (stream, { given.withLock { $0 } })
    }

    private func error(of result: Result<HashedContent, TransferError>) -> TransferError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test func `a stream can be read at any offset, and may be as long as the limit`() async throws {
        let bytes = testBytes(300_000)
        let disk = SimulatedDisk(seed: 1)
        let spool = try await spool(chunks(of: bytes, 7_001).stream, limit: 300_000, on: disk).get()
        #expect(spool.length == 300_000)
        #expect(try await spool.read(0..<300_000) == bytes[...])
        #expect(try await spool.read(70_000..<70_003) == bytes[70_000..<70_003])
        #expect(try disk.names(in: "/").isEmpty)
        #expect(
            error(of: await self.spool(chunks(of: bytes, 7_001).stream, limit: 299_999, on: disk))
                == .streamTooLong(limit: 299_999)
        )
    }

    @Test func `a chunk is requested once the previous ones are written`() async throws {
        for (length, most) in [(StreamSpooler.minimumWrite, 1), (100_000, 1), (StreamSpooler.minimumWrite / 8, 8)] {
            let (chunks, given) = chunks(of: testBytes(2_000_000), length)
            let waiting = Mutex(0)
            let disk = SimulatedDisk(seed: 1)
            disk.beforeCalls { _, _, offset in
                guard let offset else { return }
                waiting.withLock { $0 = max($0, given() - Int(offset)) }
            }
            let spool = try await spool(chunks, on: disk).get()
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
            let error = error(of: await spool(chunks(of: testBytes(900_000), 100_000).stream, on: disk))
            #expect(error == .fileSystem(call: call == 1 ? "open" : "pwrite", path: "/", .noSpace))
            #expect(error?.disposition == .resumable)
        }
    }

    @Test func `a disk that loses bytes causes an error, not a short content`() async throws {
        let disk = SimulatedDisk(seed: 1)
        let spool = try await spool(chunks(of: testBytes(300_000), 100_000).stream, on: disk).get()
        await #expect(throws: TransferError.fileSystem(call: "pread", path: "/", .ioError)) {
            try await spool.read(299_999..<300_001)
        }
    }

    @Test func `a stream that hears nothing is cancelled at once, and its file is closed`() async throws {
        let folder = try UploadFolder([])
        let (entered, entry) = AsyncStream<Void>.makeStream()
        let (blocked, release) = AsyncStream<Void>.makeStream()
        let isFirst = Mutex(true)
        // A chunk, and then a wait that ignores cancellation.
        let chunks = AsyncThrowingStream<[UInt8], any Error> {
            if isFirst.withLock({ isFirst in
                defer { isFirst = false }
                return isFirst
            }) {
                return [UInt8](repeating: 1, count: 100_000)
            }
            entry.yield()
            await Task.detached { for await _ in blocked {} }.value
            return [2]
        }
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
        let disk = SimulatedDisk(seed: 1)
        disk.beforeCalls { _, _, offset in if offset != nil { entry.yield() } }
        let running = Task { await spool(chunks, on: disk) }
        for await _ in writes { break }
        running.cancel()
        #expect(error(of: await running.value) == .cancelled)
    }
}
