import NIOCore

/// Measures how long the local side has paused a transfer.
struct PauseMeter {
    private var start: NIODeadline?
    private var total = TimeAmount.zero

    /// The local side stops reading or writing; idempotent.
    mutating func pause(at now: NIODeadline = .now()) { start = start ?? now }

    /// The local side continues; idempotent.
    mutating func resume(at now: NIODeadline = .now()) {
        if let start { total = total + (now - start) }
        start = nil
    }

    /// Returns the paused time since the last call.
    mutating func takeTotal(at now: NIODeadline = .now()) -> Duration {
        if start != nil {
            resume(at: now)
            start = now
        }
        defer { total = .zero }
        return .nanoseconds(total.nanoseconds)
    }
}
