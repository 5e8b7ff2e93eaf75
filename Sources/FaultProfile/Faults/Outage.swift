/// The network, or the server, is away for as long as the fault is on: the length of its phase, or
/// for ever outside phases.
public struct Outage: Hashable, Sendable {
    /// What a client sees of it.
    public var how: Manner
    /// How a transfer goes on after a silence; `immediate` for any other outage.
    public var recovery: Recovery

    /// What a client sees of an outage.
    public enum Manner: String, Hashable, Sendable, CaseIterable {
        /// New connections are refused, live ones are reset.
        case refuse
        /// New connections are accepted and nothing passes; what is in flight is held, and passes
        /// when the outage ends.
        case silence
        /// Live connections are reset, new ones are accepted and reset at once.
        case reset
    }

    /// How a transfer goes on after a silence.
    public enum Recovery: Hashable, Sendable {
        /// At once.
        case immediate
        /// When a TCP sender would have tried again: its retransmission timer doubles each time, so it may
        /// sleep on for as long as the silence was (RFC 6298, section 5). The round trip, above zero, says
        /// where the timer starts: at 1.5 round trips, and at 200 ms or more.
        case tcpBackoff(roundTrip: Duration?)
    }

    /// Makes an outage.
    public init(how: Manner, recovery: Recovery = .immediate) {
        self.how = how
        self.recovery = recovery
    }
}
