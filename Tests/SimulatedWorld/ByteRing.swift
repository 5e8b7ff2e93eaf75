/// Bytes in the order in which they came, with room for a fixed number of them.
struct ByteRing {
    private var bytes: [UInt8] = []
    private var start = 0
    /// The most bytes in it.
    let capacity: Int

    init(capacity: Int) {
        self.capacity = capacity
    }

    /// The bytes in it.
    var count: Int { bytes.count - start }
    /// The bytes that it has room for.
    var room: Int { capacity - count }
    /// Whether it holds nothing.
    var isEmpty: Bool { count == 0 }

    /// Appends bytes, no more than there is room for.
    mutating func append(_ source: UnsafeRawBufferPointer) {
        precondition(source.count <= room, "a ring takes no more than it has room for")
        bytes.append(contentsOf: source)
    }

    /// Moves `length` bytes, no more than it holds, out of it and to `target`.
    mutating func remove(_ length: Int, to target: UnsafeMutableRawPointer) {
        precondition(length <= count, "a ring gives no more than it holds")
        bytes.withUnsafeBytes { source in
            guard let base = source.baseAddress else { return }
            target.copyMemory(from: base + start, byteCount: length)
        }
        drop(length)
    }

    /// Moves `length` bytes out of it and into another ring.
    mutating func move(_ length: Int, into other: inout ByteRing) {
        precondition(length <= count, "a ring gives no more than it holds")
        bytes.withUnsafeBytes { other.append(UnsafeRawBufferPointer(rebasing: $0[start..<start + length])) }
        drop(length)
    }

    /// Forgets everything.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }

    private mutating func drop(_ length: Int) {
        start += length
        if start == bytes.count {
            removeAll()
        } else if start > 64 << 10, start > bytes.count / 2 {
            bytes.removeFirst(start)
            start = 0
        }
    }
}
