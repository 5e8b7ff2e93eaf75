import Units

/// Bytes are handed over in writes of bounded size, with a pause between two.
public struct Slice: Hashable, Sendable {
    /// The bytes of a slice, give or take `spread`. Above zero.
    public var size: ByteCount
    /// How far a slice's size may lie from `size`, drawn evenly for each. Below `size`.
    public var spread: ByteCount
    /// How long the next slice waits behind the one before it. Zero or more.
    public var pause: Duration

    /// Makes a slice; the rules of each part are stated at its property.
    public init(size: ByteCount, spread: ByteCount = .zero, pause: Duration = .zero) {
        self.size = size
        self.spread = spread
        self.pause = pause
    }
}
