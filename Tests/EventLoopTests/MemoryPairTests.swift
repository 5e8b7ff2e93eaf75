import EventLoop
import Testing

/// A pair of sockets in memory.
@Suite(.timeLimit(.minutes(1))) struct MemoryPairTests {
    /// Runs `body` with the two sockets of a pair on their loop, and closes what it leaves open.
    private func withPair(
        _ body: @escaping @Sendable (MemoryPairEnd, StreamSocket, StreamSocket, EventLoop) -> Void
    ) async throws {
        let loops = try EventLoopGroup(count: 1)
        let loop = loops.next()
        try await loop.run {
            let (one, other) = MemoryPairEnd.make(on: loop)
            let sockets = (StreamSocket(over: one), StreamSocket(over: other))
            body(one, sockets.0, sockets.1, loop)
            sockets.0.close()
            sockets.1.close()
        }
        await loops.stop()
    }

    /// Sends bytes; returns how many were taken, −1 for a failure.
    private static func send(_ bytes: [UInt8], to socket: StreamSocket) -> Int {
        switch socket.send(bytes.span.bytes) {
        case .sent(let count): count
        case .wouldBlock: 0
        case .failed: -1
        }
    }

    /// What a receive brings: bytes, or how it ended.
    private static func receive(_ limit: Int, from socket: StreamSocket) -> (bytes: [UInt8], end: String) {
        switch socket.receive(limit: limit) {
        case .received(let chunk):
            (socket.loop.withScratch(chunk.count) { span in span.indices.map { span[$0] } }, "")
        case .wouldBlock: ([], "wait")
        case .ended: ([], "end")
        case .failed(let error): ([], error.call)
        }
    }

    @Test func `bytes go both ways in order, up to the capacity`() async throws {
        try await withPair { _, one, other, _ in
            let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            #expect(MemoryPairTests.send(bytes, to: one) == bytes.count)
            #expect(MemoryPairTests.send(bytes, to: one) == MemoryPairEnd.capacity - bytes.count)
            #expect(MemoryPairTests.send([1], to: one) == 0)
            #expect(one.unacknowledged() == MemoryPairEnd.capacity)
            #expect(MemoryPairTests.send([5, 6], to: other) == 2)
            #expect(MemoryPairTests.receive(10, from: one).bytes == [5, 6])
            var received: [UInt8] = []
            while case let part = MemoryPairTests.receive(70_001, from: other), part.end.isEmpty {
                received += part.bytes
            }
            #expect(received == bytes + bytes[..<(MemoryPairEnd.capacity - bytes.count)])
            #expect(MemoryPairTests.send([1], to: one) == 1)
        }
    }

    @Test func `an end and a reset come after the bytes`() async throws {
        for isReset in [false, true] {
            try await withPair { _, one, other, _ in
                #expect(MemoryPairTests.send([1, 2], to: one) == 2)
                if isReset { one.reset() } else { one.shutdownWrite() }
                #expect(MemoryPairTests.receive(1, from: other).bytes == [1])
                #expect(other.isBroken() == false)
                #expect(MemoryPairTests.receive(9, from: other).bytes == [2])
                #expect(MemoryPairTests.receive(9, from: other).end == (isReset ? "recv" : "end"))
                #expect(other.isBroken() == isReset)
                // The other direction goes on after an end.
                #expect(MemoryPairTests.send([3], to: other) == (isReset ? -1 : 1))
            }
        }
    }

    @Test func `a close with unread bytes is a reset, and sends to a closed end fail or are dropped`() async throws {
        for drops in [false, true] {
            try await withPair { end, one, other, _ in
                end.dropsAfterClose = drops
                other.close()
                #expect(MemoryPairTests.receive(1, from: one).end == "end")
                #expect(one.hasPeerClosed)
                #expect(MemoryPairTests.send([1], to: one) == (drops ? 1 : -1))
            }
        }
        try await withPair { _, one, other, _ in
            #expect(MemoryPairTests.send([1], to: one) == 1)
            other.close()
            #expect(MemoryPairTests.receive(1, from: one).end == "recv")
        }
    }
}
