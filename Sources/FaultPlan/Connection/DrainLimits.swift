import Units

/// The time and the bytes that a connection may still take when one of its ends is gone.
public struct DrainLimits: Hashable, Sendable {
    /// The longest time without a byte on a connection whose client is gone: 60 s. Linux keeps a socket for as long that
    /// its process has closed and its peer hasn't (tcp_fin_timeout).
    public var goneGrace = Duration.seconds(60)
    /// The same where a blackhole hides from each end that the other is gone: 15 min, about the time after which Linux
    /// gives up a connection whose packets nobody acknowledges (tcp_retries2).
    public var blackholeGrace = Duration.seconds(900)
    /// The longest time that a connection stays severed, or without a server: 24 h.
    public var limit = Duration.seconds(86_400)
    /// The time without a byte passed after which a client that has ended its stream counts as gone where descriptors,
    /// or connections, run short: 10 s.
    public var shortageGrace = Duration.seconds(10)
    /// The interval between two checks of the connections of a loop, by which a release may be late: 5 s.
    public var lookInterval = Duration.seconds(5)
    /// The time of silence before a keep-alive probe to an end that has ended its stream, and between two probes, in
    /// seconds, 1 or more: 10.
    public var probeSeconds = 10
    /// The probes without an answer after which the end is gone: 4.
    public var probeCount = 4
    /// The connections that a loop releases at a time where descriptors, or connections, run short: 16.
    public var shortageBatch = 16

    /// The longest time without an acknowledgement from an end before it is reset: 10 s.
    public var resetGrace = Duration.seconds(10)
    /// The bytes of that end that are discarded meanwhile, counted from its last acknowledgement: 64 MiB.
    public var resetDropLimit = 64 << 20
    /// The time that an end has to close after a cut has closed its connection: 5 s.
    public var closeGrace = Duration.seconds(5)
    /// The bytes of that end that are discarded meanwhile: 16 MiB.
    public var closeDropLimit = 16 << 20

    /// The limits of every proxy, unless a test sets others.
    public init() {}
}
