import Glibc

extension EventLoop {
    /// XORs the byte at `index` of the scratch buffer with `mask`.
    public func flipScratch(at index: Int, mask: UInt8) {
        preconditionOnLoop()
        precondition(index >= 0 && index < EventLoop.scratchSize, "outside the scratch")
        scratch.storeBytes(
            of: scratch.load(fromByteOffset: index, as: UInt8.self) ^ mask,
            toByteOffset: index,
            as: UInt8.self
        )
    }

    /// Removes `count` bytes at `index` from the first `length` bytes of the scratch buffer.
    public func removeScratch(at index: Int, count: Int, of length: Int) {
        preconditionOnLoop()
        precondition(index >= 0 && count >= 0 && index + count <= length, "outside the bytes")
        precondition(length <= EventLoop.scratchSize, "outside the scratch")
        memmove(scratch + index, scratch + index + count, length - index - count)
    }

    /// Inserts `bytes` at `index` of the first `length` bytes of the scratch buffer. The total must fit `scratchCapacity`
    /// and `insertionCapacity`.
    public func insertScratch(_ bytes: [UInt8], at index: Int, of length: Int) {
        preconditionOnLoop()
        precondition(index >= 0 && index <= length, "outside the scratch")
        precondition(length + bytes.count <= EventLoop.scratchSize, "more bytes are put in than there is room for")
        memmove(scratch + index + bytes.count, scratch + index, length - index)
        copyToScratch(bytes.span.bytes, at: index)
    }

    /// Calls `body` with the first `length` bytes of the scratch buffer.
    public func withScratch<Result>(_ length: Int, _ body: (Span<UInt8>) -> Result) -> Result {
        preconditionOnLoop()
        precondition(length >= 0 && length <= EventLoop.scratchSize, "outside the scratch")
        let bytes = UnsafeBufferPointer(start: scratch.assumingMemoryBound(to: UInt8.self), count: length)
        return body(bytes.span)
    }

    /// Calls `body` with `length` bytes of the scratch buffer at `offset`, as bytes without a type.
    public func withRawScratch(_ offset: Int, _ length: Int, _ body: (RawSpan) -> Void) {
        preconditionOnLoop()
        precondition(offset >= 0 && length >= 0 && offset + length <= EventLoop.scratchSize, "outside the scratch")
        body(UnsafeRawBufferPointer(start: scratch + offset, count: length).bytes)
    }

    /// Copies bytes that lie elsewhere to the scratch buffer at `offset`.
    public func copyToScratch(_ bytes: RawSpan, at offset: Int) {
        preconditionOnLoop()
        precondition(offset >= 0 && offset + bytes.byteCount <= EventLoop.scratchSize, "outside the scratch")
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress { (scratch + offset).copyMemory(from: start, byteCount: source.count) }
        }
    }

    /// Copies `bytes` to the start of the scratch buffer.
    public func fillScratch(with bytes: [UInt8]) { copyToScratch(bytes.span.bytes, at: 0) }
}
