/// The loops of a proxy, which take turns in serving its connections.
struct LoopTurns {
    private let count: Int
    /// The loop of the listener.
    let own: Int
    private var following = 0

    init(_ count: Int, own: Int) { (self.count, self.own) = (count, own) }

    /// The loop of the next connection.
    mutating func next() -> Int {
        defer { following = (following + 1) % count }
        return following
    }

    /// The loop of the next connection of a client of this process, with the numbers of open connections on the listener's loop and
    /// on all others.
    ///
    /// The supervisor of these clients works on the listener's loop as well, which gets half as many connections as each other
    /// loop. The first two stay there, because another loop would have to be woken.
    mutating func next(here: Int, elsewhere: Int) -> Int {
        if count == 1 || 2 * here <= elsewhere / (count - 1) + 2 { return own }
        let loop = next()
        return loop == own ? next() : loop
    }
}
