import Glibc
import TestSockets
import TestStreams
import Testing
import Units

@testable import EventLoop

struct PipeQueueTests {
    /// Moves bytes between two sockets of one loop by pipes.
    private final class Mover: LoopHandler {
        let source: StreamSocket
        let sink: StreamSocket
        var queue = PipeQueue()
        var moved = 0
        /// A byte that came just after the pipe had got none, in the loop's scratch buffer.
        var hasStray = false
        var strays = 0
        var generator = SeededGenerator(seed: 3)
        var whenDone: ((String) -> Void)?

        init(_ source: StreamSocket, _ sink: StreamSocket) {
            self.source = source
            self.sink = sink
            super.init()
            source.watch(by: self, tag: 0)
            sink.watch(by: self, tag: 1)
        }

        override func socketIsReady(_ tag: Int) {
            if whenDone != nil, let end = move() {
                whenDone?(end)
                whenDone = nil
            }
        }

        /// Moves random parts until nothing moves; how the source has ended, once it has.
        private func move() -> String? {
            while true {
                if hasStray {
                    guard sink.isWritable else { return nil }
                    switch sink.sendScratch(from: 0, length: 1) {
                    case .sent: (hasStray, moved) = (false, moved + 1)
                    case .wouldBlock: continue
                    case .failed: return "broken"
                    }
                } else if queue.isEmpty {
                    guard source.isReadable else { return nil }
                    let most = Bool.random(using: &generator) ? 1_000 : 2 << 20
                    let limit = Int.random(in: 1...most, using: &generator)
                    switch queue.receive(from: source, limit: limit) {
                    case .received(let count): precondition(count <= min(limit, PipePool.pipeSize), "too many")
                    case .nothing:
                        switch source.receive(limit: 1) {
                        case .received: (hasStray, strays) = (true, strays + 1)
                        case .wouldBlock: continue
                        case .ended: return "end"
                        case .failed: return "failure"
                        }
                    case .failed: return "failure"
                    case nil: return "no pipe"
                    }
                } else {
                    guard sink.isWritable else { return nil }
                    switch queue.send(to: sink, limit: Int.random(in: 1...300_000, using: &generator)) {
                    case .sent(let count): moved += count
                    case .wouldBlock: continue
                    case .failed: return "broken"
                    }
                }
            }
        }

        func close() {
            queue.removeAll(of: source.loop)
            source.close()
            sink.close()
            source.loop.deferRelease(self)
        }
    }

    /// A mover between two peers, on a loop of its own.
    private func withMover<Result>(
        _ body: (LoopBound<Mover>, _ writer: TestSocket, _ reader: TestSocket) async throws -> Result
    ) async throws -> Result {
        try await withLoop { loop in
            let (left, leftAddress) = TestSocket.listening()
            let (right, rightAddress) = TestSocket.listening()
            let mover = try await loop.run {
                Swift.Result {
                    let source = try StreamSocket(connectingTo: leftAddress, on: loop)
                    return LoopBound(Mover(source, try StreamSocket(connectingTo: rightAddress, on: loop)), on: loop)
                }
            }.get()
            return try await ending(mover) {
                try await body($0, left.accepted(), right.accepted())
            } by: {
                try await loop.run { mover.value.close() }
            }
        }
    }

    @Test func `bytes go through pipes in order and whole, and the pipe goes back`() async throws {
        let sent: [UInt8] = (0..<6 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
        try await withMover { mover, writer, reader in
            async let writing: Void = blocking {
                try writer.send(sent)
                writer.endWriting()
            }
            async let reading = blocking { try reader.receive(exactly: sent.count) }
            let end: String = await answer(of: mover.loop) { reply in
                mover.value.whenDone = reply
                mover.value.socketIsReady(0)
            }
            try await writing
            let received = try await reading
            let isEqual = received == sent
            #expect(isEqual)
            #expect(end == "end")
            // Most come by the pipe: one for each time that it found none is the most that can come otherwise.
            let strays = try await mover.loop.run { mover.value.strays }
            #expect(strays < 100)
            let facts = try await mover.loop.run { () -> [Int] in
                let pipes = mover.loop.pipes.takeUnretainedValue()
                let before = pipes.count
                mover.loop.giveBackPipes()
                return [mover.value.moved, before, pipes.count]
            }
            #expect(facts == [sent.count, 1, 0])
        }
    }

    @Test func `a sink that has gone is an error of the call, and no signal`() async throws {
        try await withMover { mover, writer, reader in
            reader.resetAtClose()
            reader.close()
            async let writing: Void = blocking { writer.sendUntilBroken([UInt8](repeating: 7, count: 1 << 20)) }
            let end: String = await answer(of: mover.loop) { reply in
                mover.value.whenDone = { end in
                    mover.value.source.reset()
                    reply(end)
                }
                mover.value.socketIsReady(0)
            }
            _ = try await writing
            #expect(end == "broken")
        }
    }

    @Test func `a loop has so many pipes and no more, and one with bytes in it isn't used again`() throws {
        let pool = PipePool(SystemCalls(nil))
        let pipes = (0..<PipePool.limit).compactMap { _ in pool.take() }
        #expect(pipes.count == PipePool.limit)
        #expect(pool.take() == nil)
        #expect(write(pipes[0].pointee.input, "x", 1) == 1)
        pipes[0].pointee.count = 1
        pool.give(pipes[0])
        #expect(pool.count == PipePool.limit - 1)
        let fresh = try #require(pool.take())
        var byte: UInt8 = 0
        #expect(read(fresh.pointee.output, &byte, 1) == -1 && errno == EAGAIN)
        pool.give(fresh)
        for pipe in pipes.dropFirst() { pool.give(pipe) }
        #expect(pool.take() == pipes.last)
        pool.give(try #require(pipes.last))
        pool.drain()
        #expect(pool.count == 0)
        pool.isUsable = false
        #expect(pool.take() == nil)
    }
}
