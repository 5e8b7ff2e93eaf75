/// The network, or the server, is away for as long as the fault is on: the length of its phase, or
/// for ever outside phases.
public struct Outage: Hashable, Sendable {
    /// What a client sees of it.
    public var how: Manner

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

    /// Makes an outage.
    public init(how: Manner) {
        self.how = how
    }
}
