internal import Units

/// A point in UTC, by the clock on the wall: it survives restarts, and may be set.
public struct QueueTime: Comparable, Hashable, Sendable, Codable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public var milliseconds: Int64

    /// Makes a time.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// Makes a time from seconds since 1970-01-01T00:00:00Z; saturates.
    public init(secondsSince1970 seconds: Int64) {
        milliseconds = Duration.seconds(seconds).wholeMilliseconds
    }

    /// Reads a time.
    public init(from decoder: any Decoder) throws {
        milliseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes the milliseconds.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(milliseconds)
    }

    /// Whether `left` is the earlier.
    public static func < (left: QueueTime, right: QueueTime) -> Bool { left.milliseconds < right.milliseconds }

    /// The time a duration later; saturates.
    public static func + (time: QueueTime, duration: Duration) -> QueueTime {
        QueueTime(milliseconds: time.milliseconds.addingSaturated(duration.wholeMilliseconds))
    }

    /// The time from `right` to `left`.
    public static func - (left: QueueTime, right: QueueTime) -> Duration {
        .milliseconds(left.milliseconds.subtractingSaturated(right.milliseconds))
    }
}
