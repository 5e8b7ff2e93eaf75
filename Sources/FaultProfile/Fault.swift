import Units

/// A fault: its kind, directions and connections.
public struct Fault: Hashable, Sendable {
    /// The name, part of the journal and of every draw. Unique in the profile. The default is the kind ("cut"), numbered
    /// from the second on ("cut-2"), with the phase in front ("gone/outage").
    public var name: String
    /// The directions it acts on.
    public var stream: StreamSelection
    /// The connections it acts on, and when in their lives.
    public var condition: Condition
    /// The kind and its data.
    public var kind: FaultKind

    /// Makes a fault; `name` is unique in its profile.
    public init(name: String, stream: StreamSelection = .both, condition: Condition = Condition(), kind: FaultKind) {
        self.name = name
        self.stream = stream
        self.condition = condition
        self.kind = kind
    }
}

/// Which directions of a connection a fault acts on.
public enum StreamSelection: String, Hashable, Sendable, CaseIterable {
    /// Client to server.
    case upstream
    /// Server to client.
    case downstream
    /// Each of the two, on its own.
    case both
}

/// `when`: which connections a fault acts on. Everything given must hold.
public struct Condition: Hashable, Sendable {
    /// The names of the proxies that have the fault; empty for all, see `Profile.narrowed`.
    public var proxies: [String]
    /// The connections by number; the first connection that a proxy accepts is number 1.
    public var connections: ConnectionSelection
    /// The chance that the fault is on for a connection, drawn once for each from the seed.
    public var chance: Probability
    /// The age of the connection from which the fault is on. Zero or more.
    public var ageFrom: Duration
    /// The age of the connection at which the fault is off again; `nil` is never. Above `ageFrom`.
    public var ageUntil: Duration?
    /// The allowed client addresses; empty allows any. An unknown address is in no range.
    public var clients: [AddressRange]
    /// The allowed hosts, which clients name in a handshake or in their first bytes; empty allows any. A connection without a
    /// name matches none.
    public var hosts: [HostPattern]
    /// The interval of the proxy's clock in which the fault is on; `nil` is always.
    public var clock: ClockWindow?
    /// When the fault is on and off in turn, on the proxy's clock; `nil` is always on.
    public var duty: DutyCycle?
    /// The name of another fault of the profile, which must have acted before the connection was accepted.
    public var after: String?
    /// The HTTP messages that the fault acts on; `nil` is every byte, whether HTTP or not.
    public var http: HTTPCondition?

    /// Makes a condition; without arguments it holds for every connection at every time.
    public init(
        connections: ConnectionSelection = .all,
        chance: Probability = .always,
        ageFrom: Duration = .zero,
        ageUntil: Duration? = nil,
        clients: [AddressRange] = [],
        hosts: [HostPattern] = [],
        clock: ClockWindow? = nil,
        duty: DutyCycle? = nil,
        after: String? = nil,
        http: HTTPCondition? = nil,
        proxies: [String] = []
    ) {
        self.proxies = proxies
        self.connections = connections
        self.chance = chance
        self.ageFrom = ageFrom
        self.ageUntil = ageUntil
        self.clients = clients
        self.hosts = hosts
        self.clock = clock
        self.duty = duty
        self.after = after
        self.http = http
    }
}

/// Connections of a proxy by number, counted from 1.
public enum ConnectionSelection: Hashable, Sendable {
    case all
    /// From the first to the second, both included.
    case range(ClosedRange<UInt64>)
    /// Connections whose number is a multiple of this, 1 or more.
    case every(UInt64)

    /// Whether the connection of this number, counted from 1, is among them.
    public func contains(_ ordinal: UInt64) -> Bool {
        switch self {
        case .all: true
        case .range(let range): range.contains(ordinal)
        case .every(let step): ordinal.isMultiple(of: step)
        }
    }
}
