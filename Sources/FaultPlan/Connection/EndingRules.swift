/// The ends of connections that proxies may differ in. The defaults tell a peer most of what has happened.
public struct EndingRules: Hashable, Sendable {
    /// Whether a client whose server can't be reached gets the end of the stream, and not a reset.
    public var closesUnreached: Bool
    /// Whether a cut that closes, closes both sockets at once: a peer whose bytes are unread then is reset.
    public var closesAtOnce: Bool
    /// Whether every connection with a `discard` ends when that is removed, and not only those that have lost bytes.
    public var endsWithDiscard: Bool

    /// Rules, by default those of a proxy of its own.
    public init(closesUnreached: Bool = false, closesAtOnce: Bool = false, endsWithDiscard: Bool = false) {
        self.closesUnreached = closesUnreached
        self.closesAtOnce = closesAtOnce
        self.endsWithDiscard = endsWithDiscard
    }
}
