/// The end of a stream (FIN or reset) comes late, behind a pause in which nothing happens.
public struct SlowClose: Hashable, Sendable {
    /// How much later than the last byte the end comes. Above zero.
    public var delay: Duration

    /// Makes a slow close.
    public init(delay: Duration) {
        self.delay = delay
    }
}
