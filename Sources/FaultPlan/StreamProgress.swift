/// How far a stream has come at one point between two stages.
///
/// Positions count bytes from the start of the stream. The end of the stream is a position as
/// well: a stream of E bytes that has ended is at position E + 1.
public struct StreamProgress: Hashable, Sendable {
    /// How far the stream has come: bytes, and one more when the end is among them.
    public var position: Int64
    /// How far it could come at once if nobody held it back: `position`, and the bytes that wait
    /// in front of the link. Never below `position`.
    public var availableEnd: Int64
    /// Whether `position` includes the end of the stream.
    public var hasEnded: Bool
    /// Whether a rate holds back more that wants to pass: bytes go on to come, at that rate.
    var isThrottled = false

    /// Makes a reach. `availableEnd` is at least `position`.
    public init(position: Int64, availableEnd: Int64, hasEnded: Bool) {
        self.position = position
        self.availableEnd = availableEnd
        self.hasEnded = hasEnded
    }

    /// The bytes at `position`, the end not counted.
    public var bytes: Int64 { hasEnded ? position - 1 : position }

    /// The bytes at `availableEnd`, the end not counted.
    public var bytesAtAvailableEnd: Int64 { hasEnded ? availableEnd - 1 : availableEnd }

    /// Holds the stream back to `limit`: nothing beyond it has come, or could come.
    public mutating func clamp(to limit: Int64) {
        if limit < position {
            position = limit
            hasEnded = false
        }
        if limit < availableEnd { availableEnd = limit }
    }
}
