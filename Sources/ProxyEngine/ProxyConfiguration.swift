import EventLoop
import FaultPlan
import FaultProfile
import OperatingSystem
import Units

/// The configuration of a proxy.
public struct ProxyConfiguration: Sendable {
    /// The name in the journal, and in the seed of every draw.
    public var name: String
    /// The endpoint to listen on: every address of a name. Port 0 takes a port that is free at all of them.
    public var listen: Endpoint
    /// The permissions of the file of a Unix-domain socket; clients need write permission. Owner only by default.
    public var listenPermissions = SocketPermissions.ownerOnly
    /// Where to forward to: one server, or the targets that clients name.
    public var destination: Destination
    /// Whether the proxy starts although the upstream's name has no address. It is looked up once a second until it has one;
    /// connections are reset until then. By default `false`: `Proxy.start` throws.
    public var startsUnresolved = false
    /// The faults.
    public var profile: Profile
    /// The seed of every draw.
    public var seed: UInt64
    /// The bytes that one direction of a connection may hold in memory; beyond them the sender waits. 8 MiB by default.
    public var linkHoldLimit = Link.defaultHoldLimit
    /// The time limit of dialing the upstream, after which the client is reset. 10 s by default.
    public var connectTimeout = Duration.seconds(10)
    /// The largest number of open connections; one more is accepted and reset. 16,384 by default.
    public var connectionLimit = 16_384

    /// The ends of connections, where they differ from those of Toxiproxy.
    package var endings = EndingRules()
    /// The limits of connections whose peers are gone.
    package var drainLimits = DrainLimits()
    /// The registry that finds cycles of proxies.
    package var registry = ProxyRegistry.shared
    /// The routes of running proxies that end once this one has started: it may forward to where they listen, and listen
    /// where they forward to.
    package var replacedRoutes: Set<Int> = []

    /// Looks up the names to listen on and to forward to, off every loop.
    package var resolve: @Sendable (Endpoint) async throws(SystemError) -> [SocketAddress] = Resolver.resolve

    /// Looks up the targets of clients on simulated loops, at once.
    package var simulatedNames: (@Sendable (Endpoint) -> Result<[SocketAddress], SystemError>)?

    /// The rates shared with other proxies; by default `nil`, and global rates belong to this proxy.
    public var globalBuckets: GlobalBuckets?

    /// The start of the proxy's clock and of the first phase, in the past or the future. Until then the faults of phases are
    /// off. By default `nil`: the start of the proxy.
    public var clockStart: Moment?

    /// Whether it listens on no address, and admits clients of this process only.
    package var isPrivate = false

    /// The TLS of the sides that have it, see `Endpoint.usesTLS` and `ProxyTLS.intercepted`.
    public var tls = ProxyTLS()
    /// Whether TLS of clients may be intercepted.
    var intercepts: Bool { destination.policy != nil && !tls.intercepted.isEmpty }

    /// Captures what passes; by default `nil`. Bytes are not spliced meanwhile.
    public var capture: Capture?
    /// Captures connections that begin while it has a capture, if `capture` is `nil`; by default `nil`.
    public var captureSwitch: CaptureSwitch?

    /// Called for every resumption of a transfer, on any loop; it must not block. By default `nil`: HTTP is read for faults
    /// only.
    public var resumed: (@Sendable (Resumption) -> Void)?

    /// A configuration with defaults, for one server.
    public init(name: String, listen: Endpoint, upstream: Endpoint, profile: Profile, seed: UInt64) {
        self.init(name: name, listen: listen, destination: .upstream(upstream), profile: profile, seed: seed)
    }

    /// A configuration with defaults.
    public init(name: String, listen: Endpoint, destination: Destination, profile: Profile, seed: UInt64) {
        self.name = name
        self.listen = listen
        self.destination = destination
        self.profile = profile
        self.seed = seed
    }
}
