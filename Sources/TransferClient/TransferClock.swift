import FoundationEssentials
import Units

/// The clock of a client, replaceable in tests.
public struct TransferClock: Sendable {
    /// A monotonic clock.
    public var now: @Sendable () -> Moment
    /// The wall clock in seconds since 1970, for dates in header fields.
    public var secondsSince1970: @Sendable () -> Int64
    /// Sleeps before an attempt, and where a rate limit asks for it; throws when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void
    /// Sleeps until a step has taken too long; throws when the task is cancelled. The time-outs of a connection are its
    /// event loop's.
    public var timeout: @Sendable (Duration) async throws -> Void = { try await Pause.sleep(for: $0) }

    /// The system's clocks.
    public static let system: TransferClock = {
        let origin = ContinuousClock.now
        return TransferClock(
            now: { Moment.zero + (ContinuousClock.now - origin) },
            secondsSince1970: { Int64(Date().timeIntervalSince1970) },
            sleep: { try await Pause.sleep(for: $0) }
        )
    }()
}
