import NIOCore

/// Measures how long a transfer's own side held it up since the last look.
struct PauseMeter {
    private var start: NIODeadline?
    private var total = TimeAmount.zero

    /// The transfer's own side wants nothing from here on; a second call changes nothing.
    mutating func pause(at now: NIODeadline = .now()) { start = start ?? now }

    /// The transfer is wanted again; a second call changes nothing.
    mutating func resume(at now: NIODeadline = .now()) {
        if let start { total = total + (now - start) }
        start = nil
    }

    /// Returns the time that was paused since the last call.
    mutating func takeTotal(at now: NIODeadline = .now()) -> Duration {
        if start != nil {
            resume(at: now)
            start = now
        }
        defer { total = .zero }
        return .nanoseconds(total.nanoseconds)
    }
}
