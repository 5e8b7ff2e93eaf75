import Units

/// The receiver takes its time: bytes are taken from the sender at a rate, and no more are asked for than
/// a small window has room for.
public struct SlowReader: Hashable, Sendable {
    /// How fast bytes are taken. Above zero.
    public var rate: BitRate
    /// The receive buffer towards the sender, which bounds the window that TCP offers: from
    /// `smallestWindow` to `largestWindow`. `nil` leaves it to the system.
    public var window: ByteCount?

    /// The smallest window, 4 KiB: less isn't given by the system.
    public static let smallestWindow = ByteCount.kibibytes(4)
    /// The largest window, 64 MiB.
    public static let largestWindow = ByteCount.mebibytes(64)

    /// Makes a slow reader; the rules of each part are stated at its property.
    public init(rate: BitRate, window: ByteCount? = nil) {
        self.rate = rate
        self.window = window
    }
}
