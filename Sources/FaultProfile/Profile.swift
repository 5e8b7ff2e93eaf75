import Units

/// A profile: which faults a proxy inflicts, on which connections and when. Pure data; `FaultPlan`
/// turns it into behaviour.
public struct Profile: Hashable, Sendable {
    /// The profile's name, as `squall run NAME` finds it. Never empty.
    public var name: String
    /// What it feels like, in a line.
    public var summary: String
    /// Where its figures come from; empty when nothing is said. Never taken over by a profile that extends this one.
    public var source: String
    /// The seed of every draw; `nil` leaves the choice to whoever runs the profile.
    public var seed: UInt64?
    /// Proxies that the profile itself defines; empty when the command line gives them.
    public var proxies: [ProxyDefinition]
    /// The faults that are always on. Their order doesn't matter.
    public var faults: [Fault]
    /// The phases, in order, on the clock of the proxy. Empty when the profile has none.
    public var phases: [Phase]
    /// Whether the phases start again after the last. A last phase without a duration never ends.
    public var repeats: Bool

    /// Makes a profile; the limits and rules of each part are stated at its property.
    public init(
        name: String,
        summary: String = "",
        source: String = "",
        seed: UInt64? = nil,
        proxies: [ProxyDefinition] = [],
        faults: [Fault] = [],
        phases: [Phase] = [],
        repeats: Bool = false
    ) {
        self.name = name
        self.summary = summary
        self.source = source
        self.seed = seed
        self.proxies = proxies
        self.faults = faults
        self.phases = phases
        self.repeats = repeats
    }
}

/// A proxy that a profile defines by itself.
public struct ProxyDefinition: Hashable, Sendable {
    /// The name in the journal and in the seed of its draws. Unique in the profile.
    public var name: String
    /// Where it listens, `host:port` or `unix:path`; port 0 takes a free one.
    public var listen: String
    /// The permissions of the Unix socket that it listens on; `nil` is 0600.
    public var mode: SocketPermissions?
    /// Where it forwards to, `host:port` or `unix:path`.
    public var upstream: String
    /// The faults that it has beside those of the profile. Their names are unique among all that the proxy has.
    public var faults: [Fault]
    /// The phases that it has in place of those of the profile; `nil` if it has none of its own.
    public var phases: [Phase]?
    /// Whether its own phases start again after the last.
    public var repeats: Bool
    /// The faults and phases that it has in place of the profile's; `nil` is the profile's.
    public var profile: ProxyProfile?

    /// Makes a definition; addresses aren't checked here.
    public init(
        name: String,
        listen: String,
        mode: SocketPermissions? = nil,
        upstream: String,
        faults: [Fault] = [],
        phases: [Phase]? = nil,
        repeats: Bool = false,
        profile: ProxyProfile? = nil
    ) {
        self.name = name
        self.listen = listen
        self.mode = mode
        self.upstream = upstream
        self.faults = faults
        self.phases = phases
        self.repeats = repeats
        self.profile = profile
    }
}

/// What one proxy has of another profile: its faults and phases.
public struct ProxyProfile: Hashable, Sendable {
    /// The name of that profile.
    public var name: String
    /// Its faults that are always on.
    public var faults: [Fault]
    /// Its phases.
    public var phases: [Phase]
    /// Whether they start again after the last.
    public var repeats: Bool

    /// Makes the part of a profile that a proxy has.
    public init(name: String, faults: [Fault] = [], phases: [Phase] = [], repeats: Bool = false) {
        self.name = name
        self.faults = faults
        self.phases = phases
        self.repeats = repeats
    }
}

/// A interval of the proxy's time with faults of its own.
public struct Phase: Hashable, Sendable {
    /// The phase's name. Unique in the profile.
    public var name: String
    /// How long it lasts, above zero; `nil` is for ever, in the last phase only.
    public var duration: Duration?
    /// How much shorter or longer than `duration` it may last, drawn each time. Zero or more, below `duration`.
    public var jitter: Duration
    /// The faults that are on in this phase, beside those that always are.
    public var faults: [Fault]

    /// Makes a phase; `duration` is above zero, or `nil` for ever; `jitter` is below it.
    public init(name: String, duration: Duration? = nil, jitter: Duration = .zero, faults: [Fault] = []) {
        self.name = name
        self.duration = duration
        self.jitter = jitter
        self.faults = faults
    }
}
