import CLibevent

/// Bytes spliced from a socket into a pipe, kept by the kernel until they are sent (splice(2)). An empty queue has no pipe.
///
/// Belongs to one loop and is never copied. The owner calls `removeAll` before releasing it.
public struct PipeQueue: ~Copyable {
    private var pipe: UnsafeMutablePointer<Pipe>?

    /// An empty queue.
    public init() {}

    /// Whether nothing waits.
    public var isEmpty: Bool { pipe == nil }

    /// Takes up to `limit` bytes, 1 or more and at most 1 MiB, from a socket into the empty queue; `nil` if no pipe is
    /// available.
    public mutating func receive(from socket: StreamSocket, limit: Int) -> SpliceResult? {
        // With a pipe that isn't empty, EAGAIN would be ambiguous.
        precondition(pipe == nil && limit > 0, "a pipe is filled when it is empty")
        return socket.loop.pipes._withUnsafeGuaranteedRef { pool in
            guard let pipe = pool.take() else { return nil }
            let result = socket.receive(into: pipe.pointee.input, limit: min(limit, PipePool.pipeSize))
            if case .received(let count) = result {
                pipe.pointee.count = count
                self.pipe = pipe
            } else {
                pool.give(pipe)
                if result == nil { pool.isUsable = false }
            }
            return result
        }
    }

    /// Sends up to `limit` bytes, 1 or more, from the front, and removes what was sent. The queue must not be empty.
    public mutating func send(to socket: StreamSocket, limit: Int) -> SendResult {
        guard let pipe, limit > 0 else { preconditionFailure("a send of nothing tells nothing of the socket") }
        let result = socket.send(from: pipe.pointee.output, length: min(limit, pipe.pointee.count))
        if case .sent(let count) = result {
            pipe.pointee.count -= count
            if pipe.pointee.count == 0 { removeAll(of: socket.loop) }
        }
        return result
    }

    /// Drops everything and returns the pipe.
    public mutating func removeAll(of loop: EventLoop) {
        guard let pipe else { return }
        loop.preconditionOnLoop()
        loop.pipes._withUnsafeGuaranteedRef { $0.give(pipe) }
        self.pipe = nil
    }
}
