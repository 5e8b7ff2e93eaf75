import HTTPSemantics
import Synchronization
import Testing
import TransferProtocol

@testable import OriginServer

@Suite struct DigestStoreTests {
    /// Counts computations, and blocks them until it is opened.
    private final class Gate: Sendable {
        private let stream = AsyncStream<Void>.makeStream()
        let started = AsyncStream<Int>.makeStream()
        let running = Mutex((now: 0, most: 0, total: 0))

        func compute(_ digest: ReprDigest?) async -> ReprDigest? {
            let total = running.withLock { state in
                state.now += 1
                state.total += 1
                state.most = max(state.most, state.now)
                return state.total
            }
            started.continuation.yield(total)
            for await _ in stream.stream { break }
            running.withLock { $0.now -= 1 }
            return digest
        }

        /// Unblocks all computations, including later ones.
        func open() { stream.continuation.finish() }

        /// Waits until `count` computations have been started.
        func waitForStart(_ count: Int) async {
            for await total in started.stream where total >= count { return }
        }
    }

    private static func tag(_ number: Int) throws -> EntityTag { try #require(EntityTag("\"\(number)\"")) }

    private static func digest(_ number: UInt8) -> ReprDigest? {
        ReprDigest(sha256: Array(repeating: number, count: 32))
    }

    @Test func `a digest is computed once, for all concurrent and later callers`() async throws {
        let store = DigestStore(capacity: 10, concurrency: 10)
        let tag = try Self.tag(1)
        let gate = Gate()
        await withTaskGroup(of: ReprDigest?.self) { group in
            for _ in 0..<20 { group.addTask { await store.digest(for: tag) { await gate.compute(Self.digest(7)) } } }
            await gate.waitForStart(1)
            gate.open()
            for await digest in group { #expect(digest == Self.digest(7)) }
        }
        #expect(await store.digest(for: tag) { await gate.compute(nil) } == Self.digest(7))
        #expect(gate.running.withLock { $0.total } == 1)
    }

    @Test func `no more digests than allowed are computed at the same time`() async throws {
        let store = DigestStore(capacity: 10, concurrency: 2)
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                let tag = try Self.tag(number)
                group.addTask { _ = await store.digest(for: tag) { await gate.compute(Self.digest(UInt8(number))) } }
            }
            await gate.waitForStart(2)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.running.withLock { $0.total } == 8)
        #expect(gate.running.withLock { $0.most } == 2)
    }

    @Test func `the oldest digest is forgotten first`() async throws {
        let store = DigestStore(capacity: 2, concurrency: 1)
        for number in 1...3 { _ = await store.digest(for: try Self.tag(number)) { Self.digest(UInt8(number)) } }
        #expect(await store.digest(for: try Self.tag(2)) { nil } == Self.digest(2))
        #expect(await store.digest(for: try Self.tag(3)) { nil } == Self.digest(3))
        #expect(await store.digest(for: try Self.tag(1)) { nil } == nil)
    }

    @Test func `a digest that couldn't be computed is tried again`() async throws {
        let store = DigestStore(capacity: 2, concurrency: 1)
        let tag = try Self.tag(1)
        #expect(await store.digest(for: tag) { nil } == nil)
        #expect(await store.digest(for: tag) { Self.digest(1) } == Self.digest(1))
    }

    @Test func `after a shutdown nothing is computed`() async throws {
        let store = DigestStore(capacity: 2, concurrency: 1)
        await store.shutDown()
        #expect(await store.digest(for: try Self.tag(1)) { Self.digest(1) } == nil)
    }

    @Test func `a caller whose timeout expires gets none, and the computation continues for later ones`() async throws {
        let store = DigestStore(capacity: 2, concurrency: 1)
        let tag = try Self.tag(1)
        let gate = Gate()
        let first = await store.digest(for: tag) {
            await gate.waitForStart(1)
        } compute: {
            await gate.compute(Self.digest(1))
        }
        #expect(first == nil)
        async let second = store.digest(for: tag) { await gate.compute(Self.digest(2)) }
        gate.open()
        #expect(await second == Self.digest(1))
        #expect(gate.running.withLock { $0.total } == 1)
    }

    @Test func `a queued computation is abandoned with its last caller`() async throws {
        let store = DigestStore(capacity: 4, concurrency: 1)
        let gate = Gate()
        async let busy = store.digest(for: try Self.tag(1)) {
            await gate.compute(Self.digest(1))
        }
        await gate.waitForStart(1)
        let waiting = try Self.tag(2)
        #expect(
            await store.digest(for: waiting) {
            } compute: {
                await gate.compute(Self.digest(2))
            } == nil
        )
        gate.open()
        #expect(try await busy == Self.digest(1))
        #expect(await store.digest(for: waiting) { Self.digest(3) } == Self.digest(3))
        #expect(gate.running.withLock { $0.total } == 1)
    }

    @Test func `a computation without callers yields to one with callers`() async throws {
        let store = DigestStore(capacity: 4, concurrency: 1)
        let gate = Gate()
        let abandoned = await store.digest(for: try Self.tag(1)) {
            await gate.waitForStart(1)
        } compute: {
            await gate.compute(nil)
        }
        #expect(abandoned == nil)
        // The gate stays closed: only cancellation ends the first.
        #expect(await store.digest(for: try Self.tag(2)) { Self.digest(2) } == Self.digest(2))
    }

    @Test func `a shutdown ends queued work, and waits for running work`() async throws {
        let store = DigestStore(capacity: 4, concurrency: 1)
        let gate = Gate()
        let ended = Mutex(false)
        async let busy = store.digest(for: try Self.tag(1)) {
            _ = await gate.compute(nil)
            ended.withLock { $0 = true }
            return nil
        }
        await gate.waitForStart(1)
        async let waiting = store.digest(for: try Self.tag(2)) { Self.digest(2) }
        await store.shutDown()
        #expect(ended.withLock { $0 })
        #expect(try await busy == nil)
        #expect(try await waiting == nil)
    }
}

extension DigestStore {
    /// The digest for a tag, without a timeout.
    fileprivate func digest(for tag: EntityTag, compute: @escaping Computation) async -> ReprDigest? {
        await digest(
            for: tag,
            timeout: {
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                for await _ in stream { break }
                withExtendedLifetime(continuation) {}
            },
            compute: compute
        )
    }
}
