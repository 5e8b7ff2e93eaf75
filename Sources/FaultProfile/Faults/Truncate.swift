import Units

/// Bytes vanish from the stream, and the rest goes on as if nothing had happened: a broken middlebox.
public struct Truncate: Hashable, Sendable {
    /// The bytes that pass first, counted as in `Cut`: those that vanish don't count.
    public var at: ByteCount
    /// How many bytes behind them vanish. Above zero.
    public var bytes: ByteCount

    /// Makes a truncation; `at` is zero or more, `bytes` above zero.
    public init(at: ByteCount, bytes: ByteCount) {
        self.at = at
        self.bytes = bytes
    }
}
