import Glibc
import TestSockets
import Testing
import Units

@testable import EventLoop

struct ByteQueueTests {
    /// A queue, and the socket that it is sent to, on their loop.
    private final class Fixture: LoopHandler {
        var queue = ByteQueue()
        let socket: StreamSocket
        var generator = SeededGenerator(seed: 1)
        var appended: [UInt8] = []
        var whenDone: (() -> Void)?

        init(_ socket: StreamSocket) {
            self.socket = socket
            super.init()
            socket.watch(by: self, tag: 0)
        }

        override func socketIsReady(_ tag: Int) { work() }

        /// Appends `length` random bytes by way of the scratch buffer, at a random place in it.
        func append(_ length: Int) {
            let offset = Int.random(in: 0...EventLoop.scratchCapacity - length, using: &generator)
            let scratch = socket.loop.scratch + offset
            for index in 0..<length {
                scratch.storeBytes(of: UInt8(truncatingIfNeeded: generator.next()), toByteOffset: index, as: UInt8.self)
            }
            appended += UnsafeRawBufferPointer(start: scratch, count: length)
            queue.appendScratch(from: offset, length: length, of: socket.loop)
        }

        /// Appends and sends in random parts until 4 MiB have gone.
        func work() {
            while whenDone != nil {
                if appended.count < 4 << 20, queue.isEmpty || Bool.random(using: &generator) {
                    append(Int.random(in: 0...200_000, using: &generator))
                    continue
                }
                if queue.isEmpty { return finish() }
                guard socket.isWritable else { return }
                let limit = Int.random(in: 1...(Bool.random(using: &generator) ? 100 : 3 << 20), using: &generator)
                let before = queue.count
                switch queue.send(to: socket, limit: limit) {
                case .sent(let count): precondition(count <= limit && queue.count == before - count, "wrong count")
                case .wouldBlock: precondition(queue.count == before, "a send of nothing took bytes")
                case .failed: return finish()
                }
            }
        }

        func finish() {
            whenDone?()
            whenDone = nil
        }
    }

    private func withFixture<Result>(
        _ body: (LoopBound<Fixture>, TestSocket) async throws -> Result
    ) async throws -> Result {
        try await withLoop { loop in
            let (listener, address) = TestSocket.listening()
            listener.setReceiveBuffer(20_000)
            let fixture = try await loop.run {
                Swift.Result { LoopBound(Fixture(try StreamSocket(connectingTo: address, on: loop)), on: loop) }
            }.get()
            let peer = try listener.accepted()
            let result = try await body(fixture, peer)
            try await loop.run {
                fixture.value.queue.removeAll(of: loop)
                fixture.value.socket.close()
                loop.deferRelease(fixture.value)
            }
            return result
        }
    }

    @Test func `random appends and partial sends deliver the same bytes, and give the memory back`() async throws {
        try await withFixture { fixture, peer in
            async let received = blocking { () throws -> [UInt8] in
                var bytes: [UInt8] = []
                var generator = SeededGenerator(seed: 2)
                while true {
                    let part = try peer.receive(Int.random(in: 1...100_000, using: &generator))
                    if part.isEmpty { return bytes }
                    bytes += part
                }
            }
            let (sent, kept): ([UInt8], Int) = await answer(of: fixture.loop) { reply in
                let value = fixture.value
                value.whenDone = {
                    value.socket.shutdownWrite()
                    reply((value.appended, fixture.loop.slabs.kept))
                }
                value.work()
            }
            let bytes = try await received
            #expect(bytes.count >= 4 << 20)
            #expect(bytes == sent)
            #expect((1...SlabPool.keptLimit).contains(kept))
        }
    }

    @Test func `a queue that is emptied holds no slab, whatever was in it`() async throws {
        try await withFixture { fixture, _ in
            for length in [0, 1, 65_503, 65_504, 65_505, 131_008, 200_000] {
                let facts = try await fixture.loop.run { () -> [Int] in
                    let value = fixture.value
                    let before = fixture.loop.slabs.kept
                    value.queue.appendScratch(from: 0, length: length, of: fixture.loop)
                    let count = value.queue.count
                    let taken = before - fixture.loop.slabs.kept
                    value.queue.removeAll(of: fixture.loop)
                    return [count, value.queue.count, taken, fixture.loop.slabs.kept]
                }
                let slabs = (length + Slab.size - Slab.headerSize - 1) / (Slab.size - Slab.headerSize)
                #expect(facts[0] == length)
                #expect(facts[1] == 0)
                #expect(facts[2] <= slabs)
                #expect(facts[3] >= slabs)
            }
        }
    }

    @Test func `a slab's header fits in front of its bytes`() {
        #expect(MemoryLayout<Slab>.size <= Slab.headerSize)
    }

    @Test func `the pool keeps free slabs up to its limit and reuses them`() {
        let pool = SlabPool()
        let slabs = (0..<SlabPool.keptLimit + 10).map { _ in pool.take() }
        #expect(Set(slabs).count == slabs.count)
        #expect(pool.kept == 0)
        for slab in slabs { pool.give(slab) }
        #expect(pool.kept == SlabPool.keptLimit)
        let reused = pool.take()
        #expect(slabs.contains(reused))
        #expect(reused.pointee.start == Slab.headerSize)
        #expect(reused.pointee.end == Slab.headerSize)
        #expect(reused.pointee.next == nil)
        pool.give(reused)
        pool.drain()
        #expect(pool.kept == 0)
    }

    @Test func `bytes outside the scratch buffer trap`() async {
        await #expect(processExitsWith: .failure) {
            let loop = try EventLoop()
            try await loop.run {
                var queue = ByteQueue()
                queue.appendScratch(from: EventLoop.scratchSize, length: 1, of: loop)
            }
        }
    }
}
