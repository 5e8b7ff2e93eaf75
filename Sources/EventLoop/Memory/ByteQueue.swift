import Glibc

/// Received bytes that wait to be sent, in slabs of the loop's pool. An empty queue has none.
///
/// Belongs to one loop and is never copied. The owner calls `removeAll` before releasing it.
public struct ByteQueue: ~Copyable {
    private var first: UnsafeMutablePointer<Slab>?
    private var last: UnsafeMutablePointer<Slab>?
    /// The bytes in the queue.
    public private(set) var count = 0

    /// An empty queue.
    public init() {}

    /// Whether nothing waits.
    public var isEmpty: Bool { count == 0 }

    /// Appends bytes of the loop's scratch buffer: `length` of them from `offset`.
    public mutating func appendScratch(from offset: Int, length: Int, of loop: EventLoop) {
        loop.preconditionOnLoop()
        precondition(offset >= 0 && length >= 0 && offset + length <= EventLoop.scratchSize, "outside the scratch")
        append(UnsafeRawPointer(loop.scratch) + offset, length, loop)
    }

    /// Appends bytes that lie anywhere.
    public mutating func append(_ bytes: RawSpan, of loop: EventLoop) {
        loop.preconditionOnLoop()
        bytes.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { append(start, bytes.count, loop) }
        }
    }

    /// Appends the bytes of an array.
    public mutating func append(_ bytes: [UInt8], of loop: EventLoop) { append(bytes.span.bytes, of: loop) }

    /// Moves up to `limit` bytes from the front to the loop's scratch buffer at `offset`; returns their number.
    public mutating func moveToScratch(at offset: Int, limit: Int, of loop: EventLoop) -> Int {
        loop.preconditionOnLoop()
        let total = min(limit, count)
        precondition(offset >= 0 && total >= 0 && offset + total <= EventLoop.scratchSize, "outside the scratch")
        var moved = 0
        var slab = first
        while moved < total, let current = slab {
            let part = min(total - moved, current.pointee.end - current.pointee.start)
            let source = UnsafeMutableRawPointer(current) + current.pointee.start
            (loop.scratch + offset + moved).copyMemory(from: source, byteCount: part)
            moved += part
            slab = current.pointee.next
        }
        remove(total, loop)
        return total
    }

    private mutating func append(_ start: UnsafeRawPointer, _ length: Int, _ loop: EventLoop) {
        var source = start
        var remaining = length
        while remaining > 0 {
            let slab = slabWithRoom(loop)
            let part = min(remaining, Slab.size - slab.pointee.end)
            (UnsafeMutableRawPointer(slab) + slab.pointee.end).copyMemory(from: source, byteCount: part)
            slab.pointee.end += part
            source += part
            remaining -= part
        }
        count += length
    }

    /// Sends up to `limit` bytes, 1 or more, from the front in one call, and removes what was sent. The queue must not be
    /// empty.
    public mutating func send(to socket: StreamSocket, limit: Int) -> SendResult {
        precondition(limit > 0 && count > 0, "a send of nothing tells nothing of the socket")
        let result = withUnsafeTemporaryAllocation(of: iovec.self, capacity: ByteQueue.vectorLimit) { vectors in
            var used = 0
            var remaining = min(limit, count)
            var slab = first
            while remaining > 0, used < vectors.count, let current = slab {
                let part = min(remaining, current.pointee.end - current.pointee.start)
                vectors[used] = iovec(iov_base: UnsafeMutableRawPointer(current) + current.pointee.start, iov_len: part)
                used += 1
                remaining -= part
                slab = current.pointee.next
            }
            return socket.send(vectors, used: used)
        }
        if case .sent(let sent) = result { remove(sent, socket.loop) }
        return result
    }

    /// Drops everything and frees the memory.
    public mutating func removeAll(of loop: EventLoop) {
        remove(count, loop)
    }

    /// The most slabs of one send: 1 MiB.
    private static let vectorLimit = 16

    private mutating func slabWithRoom(_ loop: EventLoop) -> UnsafeMutablePointer<Slab> {
        if let last, last.pointee.end < Slab.size { return last }
        let slab = loop.slabs.take()
        last?.pointee.next = slab
        last = slab
        if first == nil { first = slab }
        return slab
    }

    private mutating func remove(_ length: Int, _ loop: EventLoop) {
        loop.preconditionOnLoop()
        var remaining = length
        count -= length
        while let slab = first {
            let part = min(remaining, slab.pointee.end - slab.pointee.start)
            slab.pointee.start += part
            remaining -= part
            guard slab.pointee.start == slab.pointee.end else { return }
            first = slab.pointee.next
            if first == nil { last = nil }
            loop.slabs.give(slab)
        }
    }
}
