import EventLoop
import FaultPlan
import FaultProfile
import Units

/// What a proxy is to do.
public struct ProxyConfiguration: Sendable {
    /// The name in the journal, and in the seed of every draw.
    public var name: String
    /// Where to listen: on every address of a name. Port 0 takes one that is free at all of them.
    public var listen: Endpoint
    /// Who may connect to a Unix-domain socket that has a path: whoever may write its file. The owner alone if nothing is
    /// said.
    public var listenPermissions = SocketPermissions.ownerOnly
    /// Where to forward to. A name is looked up again every 30 s while connections come, and when none of its addresses
    /// can be reached; if that fails, the addresses stay.
    public var upstream: Endpoint
    /// The faults.
    public var profile: Profile
    /// The seed of every draw.
    public var seed: UInt64
    /// The bytes that one direction of a connection may hold in memory, as a delay does. Beyond it the
    /// sender has to wait. 8 MiB if nothing is said.
    public var linkHoldLimit = Link.defaultHoldLimit
    /// How long connecting to the upstream may take before the client is reset. 10 s if nothing is said.
    public var connectTimeout = Duration.seconds(10)
    /// Connections at a time; one more is accepted and reset. 16,384 if nothing is said.
    public var connectionLimit = 16_384

    /// The limits of connections whose ends are gone.
    package var drainLimits = DrainLimits()
    /// The proxies that this one might forward to, and come back to itself.
    package var registry = ProxyRegistry.shared

    /// Looks up the names to listen on and to forward to, off every loop.
    package var resolve: @Sendable (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve

    /// The rates that it shares with other proxies; `nil` if nothing is said: then global rates are its own.
    public var globalBuckets: GlobalBuckets?

    /// When the proxy's clock starts, and with it the first phase: now, before or later. Until then it forwards
    /// without the faults of phases. `nil` if nothing is said: when the proxy is started.
    public var clockStart: Moment?

    /// Makes a configuration of what has no default.
    public init(name: String, listen: Endpoint, upstream: Endpoint, profile: Profile, seed: UInt64) {
        self.name = name
        self.listen = listen
        self.upstream = upstream
        self.profile = profile
        self.seed = seed
    }
}
