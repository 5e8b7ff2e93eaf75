import Units

/// Bytes up to an offset pass; the next one waits, then all goes on.
public struct Stall: Hashable, Sendable {
    /// The bytes that pass first.
    public var at: ByteCount
    /// What `at` is counted in.
    public var origin: Origin
    /// How long the next byte waits, from the moment it could pass. Above zero.
    public var duration: Duration

    /// Makes a stall; `at` is zero or more, `duration` above zero.
    public init(at: ByteCount, origin: Origin = .connection, duration: Duration) {
        self.at = at
        self.origin = origin
        self.duration = duration
    }
}
