/// A server whose table of connections is full: no more than so many are open at a time.
public struct ConnectionLimit: Hashable, Sendable {
    /// The connections of the proxy that may be open at a time: 1 to `largest`.
    public var limit: Int
    /// What happens to one more.
    public var how: Manner

    /// The largest limit: a million.
    public static let largest = 1_000_000

    /// What happens to a client for whom there is no room.
    public enum Manner: String, Hashable, Sendable, CaseIterable {
        /// It is accepted and reset.
        case refuse
        /// It waits in the system's queue, accepted by nobody, until a connection ends.
        case hang
    }

    /// Makes a limit.
    public init(limit: Int, how: Manner) {
        self.limit = limit
        self.how = how
    }
}
