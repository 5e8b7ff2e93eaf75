import FaultProfile
import Units

/// Why a connection to the server is made late, or not at all: lost SYN packets, or a fault that says so.
///
/// A SYN that is lost is sent again after 1 s, and after twice as long each time (RFC 6298, section 5), so the
/// connection comes 1, 3, 7, … seconds late. Linux sends it 7 times and gives up after 127 s.
public struct ConnectDelay: Hashable, Sendable {
    /// How often a SYN is sent at most.
    static let tries = 7
    /// The time to the first retry: 1 s.
    static let timer = RetransmissionTimer(first: 1_000_000_000)

    /// The fault that it comes from, as an index into `Plan.faults`.
    public let fault: Int
    /// How long to wait before the server is connected to.
    public let duration: Duration
    /// Whether every try was lost, so that the connection fails after `duration`.
    public let isFailure: Bool

    /// Draws the lost SYN packets of a connection; `nil` when the first arrives.
    init?(_ loss: Loss, fault: Int, key: RandomKey) {
        var lost = 0
        while lost < Self.tries, loss.rate.happens(key.fraction(at: Int64(lost))) { lost += 1 }
        guard lost > 0 else { return nil }
        self.fault = fault
        duration = .nanoseconds(Self.timer.elapsed(after: lost))
        isFailure = lost == Self.tries
    }

    /// A delay of `duration` by the fault at the index.
    init(fault: Int, duration: Duration) {
        self.fault = fault
        self.duration = duration
        isFailure = false
    }

    /// How long after its first SYN a client is answered, if nothing answers for a `time`, more than zero.
    public static func answer(after time: Duration) -> Duration {
        .nanoseconds(timer.firing(notBefore: time.nanoseconds))
    }

    /// The act that tells the journal of it.
    public var event: FaultEvent { FaultEvent(fault: fault, offset: nil, effect: .connectsLate) }
}
