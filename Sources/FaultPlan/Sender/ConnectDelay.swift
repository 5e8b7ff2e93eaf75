import FaultProfile
import Units

/// A late or failed connection to the server, by lost SYN packets or a `connect` fault.
///
/// A lost SYN is retransmitted after 1 s, then 2 s, 4 s, … (RFC 6298, section 5), so the connection is 1, 3, 7, … seconds
/// late. It is sent 7 times, and the connection fails after 127 s, as on Linux before 6.5.
public struct ConnectDelay: Hashable, Sendable {
    /// The most transmissions of a SYN.
    static let tries = 7
    /// The time to the first retry: 1 s.
    static let timer = RetransmissionTimer(first: 1_000_000_000)

    /// The fault's identity, see `Plan.fault`.
    public let fault: Int
    /// How long to wait before dialing the server.
    public let duration: Duration
    /// Whether every SYN was lost, so that the connection fails after `duration`.
    public let isFailure: Bool

    /// Draws the lost SYN packets of a connection; `nil` if the first arrives.
    init?(_ loss: Loss, fault: Int, key: RandomKey) {
        var lost = 0
        while lost < Self.tries, loss.rate.happens(key.fraction(at: Int64(lost))) { lost += 1 }
        guard lost > 0 else { return nil }
        self.fault = fault
        duration = .nanoseconds(Self.timer.elapsed(after: lost))
        isFailure = lost == Self.tries
    }

    /// Makes a delay by a fault.
    init(fault: Int, duration: Duration) {
        self.fault = fault
        self.duration = duration
        isFailure = false
    }

    /// Time of the first SYN that a client retransmits after an outage of `time`, which is above zero. It does so after 1,
    /// 2, 3, 4, 5, 7, 11, … s, as Linux does since 6.5 (net.ipv4.tcp_syn_linear_timeouts).
    public static func answer(after time: Duration) -> Duration {
        let (time, second) = (time.nanoseconds, Int64(1_000_000_000))
        let linear = 5 * second
        if time <= linear { return .nanoseconds((time + second - 1) / second * second) }
        let later = RetransmissionTimer(first: 2 * second)
        return .nanoseconds(linear.addingSaturated(later.firing(notBefore: time - linear)))
    }

    /// The event for the journal.
    public var event: FaultEvent { FaultEvent(fault: fault, offset: nil, effect: .connectsLate) }
}
