import NIOCore
import TransferProtocol
import Units

/// The time that a connection has: for being made, and until the deadline of the transfer, which runs meanwhile.
struct AttemptTime {
    /// How long connecting may take, at least 1 ms.
    let connectLimit: Duration
    /// When the transfer's time is up; `nil` without a deadline.
    let deadline: NIODeadline?

    /// Times beyond it are as good as none: some 30 years.
    private static let longest = Duration.seconds(1_000_000_000)

    /// - Parameter remaining: what is left until the deadline, from now on.
    init(remaining: Duration?, connectLimit: Duration) {
        self.connectLimit = max(.milliseconds(1), min(connectLimit, remaining ?? connectLimit))
        deadline = remaining.map { .now() + .nanoseconds(min($0, Self.longest).nanoseconds) }
    }
}
