import Units

/// Says when a connection on which nothing passes any more is let go: neither end is told anything, so it is kept
/// until both have given up, or for a time after one has.
public struct Vigil: Hashable, Sendable {
    /// How long a connection is kept when one end has gone: 15 min, the time in which Linux gives up a connection
    /// that nobody answers.
    public static let grace = Duration.seconds(900)
    /// How long a connection that nobody has accepted is kept when its client has ended its stream, which may go
    /// on reading: 60 s, the time after which Linux forgets a connection that it has closed itself.
    public static let hangGrace = Duration.seconds(60)
    /// How long a connection is kept at all: 24 h.
    public static let limit = Duration.seconds(86_400)

    /// What is to be done.
    public enum Verdict: Hashable, Sendable {
        /// To be kept, and looked at again at the moment, or when one of the ends does something.
        case keep(until: Moment)
        /// To be let go.
        case release
    }

    private let grace: Duration
    private let deadline: Moment
    private var goneSince: Moment?

    /// A vigil that begins at `now`; `grace` is how long one end is kept when the other has gone.
    public init(beginning now: Moment, grace: Duration = Vigil.grace) {
        self.grace = grace
        deadline = now + Vigil.limit
    }

    /// The verdict at `now`. An end has gone when it has closed its side or reset the connection.
    public mutating func verdict(isClientGone: Bool, isServerGone: Bool, at now: Moment) -> Verdict {
        if isClientGone || isServerGone { goneSince = goneSince ?? now }
        let until = min(deadline, goneSince.map { $0 + grace } ?? .distantFuture)
        if isClientGone && isServerGone || now >= until { return .release }
        return .keep(until: until)
    }
}
