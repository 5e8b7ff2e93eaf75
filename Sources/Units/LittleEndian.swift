extension [UInt8] {
    /// Appends the bytes of a number in little-endian order.
    package mutating func appendLittleEndian(_ number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}

extension ArraySlice<UInt8> {
    /// Decodes up to eight bytes as a little-endian number.
    package var littleEndianNumber: UInt64 { reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}
