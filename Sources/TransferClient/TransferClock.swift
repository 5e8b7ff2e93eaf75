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
    /// Sleeps until a step has taken too long; throws when the task is cancelled.
    public var timeout: @Sendable (Duration) async throws -> Void

    /// Makes a clock.
    ///
    /// - Parameters:
    ///   - now: A monotonic clock.
    ///   - secondsSince1970: The wall clock.
    ///   - sleep: Sleeps between attempts.
    ///   - timeout: Sleeps until a time-out; those of a connection are the event loop's.
    public init(
        now: @escaping @Sendable () -> Moment,
        secondsSince1970: @escaping @Sendable () -> Int64,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        timeout: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.now = now
        self.secondsSince1970 = secondsSince1970
        self.sleep = sleep
        self.timeout = timeout
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
