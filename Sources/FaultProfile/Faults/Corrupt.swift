import Units

/// Bits of the stream are flipped; its length stays as it is.
///
/// In each byte that is struck, one bit is flipped: drawn by the byte's offset, unless it is given.
public struct Corrupt: Hashable, Sendable {
    /// Which bytes are struck.
    public var position: Position
    /// What the position's offsets are counted in; `connection` for a rate.
    public var origin: Origin
    /// The bit that is flipped, from 0, the lowest, to 7; `nil` where it is drawn.
    public var bit: Int?

    /// Where bits are flipped.
    public enum Position: Hashable, Sendable {
        /// In the byte behind this many bytes.
        case at(ByteCount)
        /// In one byte at an offset drawn for each connection or message, evenly, both ends included.
        case between(ByteCount, ByteCount)
        /// In every byte with this chance, which is above zero.
        case rate(Probability)
    }

    /// Makes a corruption.
    public init(position: Position, origin: Origin = .connection, bit: Int? = nil) {
        self.position = position
        self.origin = origin
        self.bit = bit
    }
}
