import Units

/// One direction of a connection goes silent for good, its end included, while the other goes on.
public struct HalfOpen: Hashable, Sendable {
    /// From where on nothing passes.
    public var point: Point

    /// Where a direction goes silent.
    public enum Point: Hashable, Sendable {
        /// After this many bytes, zero or more, counted as in `Cut`.
        case at(ByteCount)
        /// At this age of the connection. Above zero.
        case after(Duration)
    }

    /// Makes a half-open fault.
    public init(point: Point) {
        self.point = point
    }
}
