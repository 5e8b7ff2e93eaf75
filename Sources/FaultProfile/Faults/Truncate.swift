import Units

/// Bytes vanish from the stream, and the rest goes on as if nothing had happened: a broken middlebox.
public struct Truncate: Hashable, Sendable {
    /// The bytes that pass first: those of the connection that vanish don't count.
    public var at: ByteCount
    /// What `at` is counted in.
    public var origin: Origin
    /// How many bytes behind them vanish. Above zero.
    public var bytes: ByteCount

    /// Makes a truncation; `at` is zero or more, `bytes` above zero.
    public init(at: ByteCount, origin: Origin = .connection, bytes: ByteCount) {
        self.at = at
        self.origin = origin
        self.bytes = bytes
    }
}
