import Units

/// Bytes up to an offset pass; the next one waits, then all goes on.
public struct Stall: Hashable, Sendable {
    /// The bytes that pass first, counted as in `Cut`.
    public var at: ByteCount
    /// How long the next byte waits, from the moment it could pass. Above zero.
    public var duration: Duration

    /// Makes a stall; `at` is zero or more, `duration` above zero.
    public init(at: ByteCount, duration: Duration) {
        self.at = at
        self.duration = duration
    }
}
