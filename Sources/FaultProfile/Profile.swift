import Units

/// A profile: the faults of a proxy, their connections and times. Pure data; `FaultPlan` implements the behaviour.
public struct Profile: Hashable, Sendable {
    /// The name, as for `squall run NAME`. Never empty.
    public var name: String
    /// What it feels like, in a line.
    public var summary: String
    /// The source of its figures; may be empty. Not inherited by `extends`.
    public var source: String
    /// The seed of every draw; `nil` to choose one at each run.
    public var seed: UInt64?
    /// The proxies defined by the profile; empty if the command line gives them.
    public var proxies: [ProxyDefinition]
    /// The faults that are always on. Their order doesn't matter.
    public var faults: [Fault]
    /// The phases, in order, on the clock of the proxy. Empty when the profile has none.
    public var phases: [Phase]
    /// Whether the phases start again after the last. A last phase without a duration never ends.
    public var repeats: Bool

    /// Makes a profile; the rules are stated at the properties.
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

/// A proxy defined by a profile.
public struct ProxyDefinition: Hashable, Sendable {
    /// The name, part of the journal and of every draw. Unique in the profile.
    public var name: String
    /// Where it listens, `host:port` or `unix:path`; port 0 takes a free one.
    public var listen: String
    /// The permissions of the Unix socket; `nil` is 0600.
    public var mode: SocketPermissions?
    /// Where it forwards to, `host:port` or `unix:path`.
    public var upstream: String
    /// Faults in addition to those of the profile, with names unique on the proxy.
    public var faults: [Fault]
    /// Phases in place of those of the profile; `nil` for the profile's.
    public var phases: [Phase]?
    /// Whether its own phases start again after the last.
    public var repeats: Bool
    /// Faults and phases in place of the profile's; `nil` for the profile's.
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

/// The faults and phases of another profile, for one proxy.
public struct ProxyProfile: Hashable, Sendable {
    package var name: String
    /// Its faults that are always on.
    public var faults: [Fault]
    package var phases: [Phase]
    /// Whether they start again after the last.
    public var repeats: Bool

    package init(name: String, faults: [Fault] = [], phases: [Phase] = [], repeats: Bool = false) {
        self.name = name
        self.faults = faults
        self.phases = phases
        self.repeats = repeats
    }
}

/// An interval of the proxy's clock with faults of its own.
public struct Phase: Hashable, Sendable {
    /// The phase's name. Unique in the profile.
    public var name: String
    /// How long it lasts, above zero; `nil` is for ever, in the last phase only.
    public var duration: Duration?
    /// How much shorter or longer than `duration` it may last, drawn each time. Zero or more, below `duration`.
    public var jitter: Duration
    /// The faults that are on in this phase, in addition to those outside phases.
    public var faults: [Fault]

    /// Makes a phase; `duration` is above zero, or `nil` for ever; `jitter` is below it.
    public init(name: String, duration: Duration? = nil, jitter: Duration = .zero, faults: [Fault] = []) {
        self.name = name
        self.duration = duration
        self.jitter = jitter
        self.faults = faults
    }
}
