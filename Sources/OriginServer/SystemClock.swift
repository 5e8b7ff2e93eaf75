import FoundationEssentials
import HTTPSemantics
import TransferProtocol

/// The system's wall clock.
public enum SystemClock {
    /// The current time, rounded down to the second.
    @Sendable
    public static func now() -> HTTPDate {
        HTTPDate(secondsSinceEpoch: Int64(Date().timeIntervalSince1970.rounded(.down)))
    }
}
