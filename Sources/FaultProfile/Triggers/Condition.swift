import Units

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
    /// The ports of the server, from 1 on; empty for any. An unknown port is in no range.
    public var ports: [ClosedRange<UInt16>]
    /// The programs of clients; empty for any. An unknown program is none of them.
    public var programs: [ProgramPattern]
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
        ports: [ClosedRange<UInt16>] = [],
        programs: [ProgramPattern] = [],
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
        self.ports = ports
        self.programs = programs
        self.clock = clock
        self.duty = duty
        self.after = after
        self.http = http
    }
}

extension Condition {
    /// Every trigger, in the order of pages and sentences.
    static let triggers: [Trigger] = [
        .proxy, .connection, .chance, .age, .client, .host, .port, .program, .clock, .duty, .after, .http,
    ]

    static let table = ObjectTable(Condition(), title: "“when”", definition: "condition", triggers.map(\.field))
    /// `when` of a profile: which connections all of its faults act on.
    static let profileTable = ObjectTable(
        Condition(),
        title: "“when” of a profile",
        definition: "profileCondition",
        triggers.filter { $0.copy != nil }.map(\.field)
    )

    private var triggers: [Trigger] { Condition.triggers.filter { $0.isSet(in: self) } }

    package var connectionTests: [@Sendable (Condition, Candidate) -> Bool] {
        triggers.compactMap { if case .connections(let test) = $0.scope { test } else { nil } }
    }

    package func asks(for fact: ConnectionFacts.Kind) -> Bool { triggers.contains { $0.fact == fact } }

    /// Whether only the proxy's clock matters.
    public var isOnClockAlone: Bool { after == nil && isForEverybody }

    /// Whether it applies to all connections alike: only the proxy, its clock and other faults matter.
    public var isForEverybody: Bool { triggers.allSatisfy(\.scope.isForEverybody) }

    /// "connections from 1 to 2, with a chance of 50 %, from an age of 5 s".
    package var sentence: String { triggers.map { $0.sentence(self) }.joined(separator: ", ") }

    /// The condition with the triggers of a profile's, each where it has none itself.
    public func narrowed(to other: Condition) -> Condition {
        var result = self
        for trigger in Condition.triggers where !trigger.isSet(in: self) { trigger.copy?(&result, other) }
        return result
    }
}
