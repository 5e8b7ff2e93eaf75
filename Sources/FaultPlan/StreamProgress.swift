/// How far a stream has come at one point in a link.
///
/// Positions count bytes from the start of the stream. The end of the stream is a position as well: a stream of E bytes
/// that has ended is at position E + 1.
struct StreamProgress: Hashable {
    /// The bytes that have come, plus one if the stream has ended.
    var position: Int64
    /// `position` plus the bytes that wait in front of the link. Never below `position`.
    var availableEnd: Int64
    /// Whether `position` includes the end of the stream.
    var hasEnded: Bool
    /// Whether a rate holds back more bytes, which will come at that rate.
    var isThrottled = false

    /// The bytes at `position`, without the end.
    var bytes: Int64 { hasEnded ? position - 1 : position }

    /// The bytes at `availableEnd`, without the end.
    var bytesAtAvailableEnd: Int64 { hasEnded ? availableEnd - 1 : availableEnd }

    mutating func clamp(to limit: Int64) {
        if limit < position {
            position = limit
            hasEnded = false
        }
        if limit < availableEnd { availableEnd = limit }
    }

    func clamped(to limit: Int64) -> StreamProgress {
        var progress = self
        progress.clamp(to: limit)
        return progress
    }

    /// The progress after a rate that holds back everything beyond `limit` for now.
    func throttled(at limit: Int64) -> StreamProgress {
        var progress = clamped(to: limit)
        progress.isThrottled = true
        return progress
    }

    /// The progress without the bytes that wait in front of the link.
    var withNothingAvailable: StreamProgress {
        var progress = self
        progress.availableEnd = position
        return progress
    }
}
