/// Bytes that wait for a `BlockWriter`, in memory of a fixed size. Integers are little-endian unless a label says otherwise.
///
/// Who appends has asked for `room` first: a byte beyond it is a mistake of the program.
public struct BlockBuffer: ~Copyable, @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    /// The bytes in the buffer.
    public private(set) var count = 0

    /// An empty buffer for `capacity` bytes.
    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 16)
    }

    deinit { memory.deallocate() }

    /// The bytes that may still be appended.
    public var room: Int { memory.count - count }

    /// Appends bytes.
    public mutating func append(_ bytes: Span<UInt8>) {
        bytes.withUnsafeBufferPointer { memory[count...].copyBytes(from: $0) }
        count += bytes.count
    }

    /// Appends bytes.
    public mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

    /// Appends the bytes of an integer.
    public mutating func append(_ value: some FixedWidthInteger) { store(value.littleEndian) }

    /// Appends the bytes of an integer in network order.
    public mutating func append(bigEndian value: some FixedWidthInteger) { store(value.bigEndian) }

    /// Appends zeros up to a multiple of four bytes.
    public mutating func pad() {
        while count % 4 != 0 { append(UInt8(0)) }
    }

    /// Replaces the bytes at `offset`, which have been appended, by those of an integer.
    public mutating func replace(at offset: Int, by value: some FixedWidthInteger) {
        let value = value.littleEndian
        withUnsafeBytes(of: value) { memory[offset..<count].copyBytes(from: $0) }
    }

    /// The sum of the bytes in `range` as integers of two bytes in network order, in ones' complement (RFC 1071).
    public func checksum(of range: Range<Int>) -> UInt16 {
        var sum: UInt32 = 0
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
            sum += UInt32(UInt16(bigEndian: memory.loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
        }
        while sum > 0xFFFF { sum = sum & 0xFFFF + sum >> 16 }
        return ~UInt16(sum)
    }

    private mutating func store(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value) { memory[count...].copyBytes(from: $0) }
        count += value.bitWidth / 8
    }

    mutating func removeAll() { count = 0 }

    /// What is in the buffer, until it changes.
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
}
