import FoundationEssentials
import Units

/// The clock of a client, replaceable in tests.
public struct TransferClock: Sendable {
    /// A monotonic clock.
    public var now: @Sendable () -> Moment
    /// The wall clock in seconds since 1970, for dates in header fields.
    public var secondsSince1970: @Sendable () -> Int64
    /// Sleeps; throws when the task is cancelled.
    public var sleep: @Sendable (Duration) async throws -> Void

    /// Makes a clock.
    public init(
        now: @escaping @Sendable () -> Moment,
        secondsSince1970: @escaping @Sendable () -> Int64,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.now = now
        self.secondsSince1970 = secondsSince1970
        self.sleep = sleep
    }

    /// The system's clocks.
    public static let system: TransferClock = {
        let origin = ContinuousClock.now
        return TransferClock(
            now: { Moment.zero + (ContinuousClock.now - origin) },
            secondsSince1970: { Int64(Date().timeIntervalSince1970) },
            sleep: { try await Task.sleep(for: $0) }
        )
    }()
}
