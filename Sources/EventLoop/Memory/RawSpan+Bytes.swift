extension RawSpan {
    /// The byte at an offset within the span.
    public func byte(at offset: Int) -> UInt8 {
        precondition(byteOffsets.contains(offset))
        return unsafeLoad(fromByteOffset: offset, as: UInt8.self)
    }
}
