import Units

/// No more than `rate` passes, from the first byte on.
public struct Bandwidth: Hashable, Sendable {
    /// The rate. Above zero.
    public var rate: BitRate
    /// What may pass at once after an idle time, and at the start. Zero is none: bytes leave at
    /// the rate from the first one.
    public var burst: ByteCount
    /// Who shares the rate.
    public var scope: Scope

    /// Who shares a rate.
    public enum Scope: String, Hashable, Sendable, CaseIterable {
        /// Each connection has the rate for itself.
        case connection
        /// All connections of the proxy share it, each direction apart (`"shared": true`).
        case proxy
    }

    /// Makes a bandwidth; `rate` is above zero, `burst` zero or more.
    public init(rate: BitRate, burst: ByteCount = .zero, scope: Scope = .connection) {
        self.rate = rate
        self.burst = burst
        self.scope = scope
    }
}
