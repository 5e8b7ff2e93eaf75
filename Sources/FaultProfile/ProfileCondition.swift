/// `when` of a profile: which connections all of its faults act on.
extension Condition {
    /// The keys of `when` that say which connections a fault acts on, whatever the fault.
    static let connectionKeys: [Field<Condition>] = [
        .optional("connection", \.connections, .ordinals, default: .all, fallback: "all"),
        .optional("client", \.clients, .clients, default: [], fallback: "all"),
        .optional("host", \.hosts, .hosts, default: [], fallback: "all"),
    ]

    static let profileTable = ObjectTable(
        Condition(),
        title: "“when” of a profile",
        definition: "profileCondition",
        texts: """
            connection: connections by number, from 1; `every`: its multiples
            client: clients by their IP address
            host: the hosts that clients name
            """,
        connectionKeys
    )

    /// The condition with the connections, the clients and the hosts of `other`, each where it has none itself.
    public func narrowed(to other: Condition) -> Condition {
        var result = self
        if connections == .all { result.connections = other.connections }
        if clients.isEmpty { result.clients = other.clients }
        if hosts.isEmpty { result.hosts = other.hosts }
        return result
    }
}

extension FaultKind {
    /// Whether the fault is about all connections together, so that it can't be narrowed to some.
    public var countsConnections: Bool { if case .connectionLimit = self { true } else { false } }
}

extension ProfileDraft {
    /// Narrows every fault as `when` says, and reports those that it can't narrow.
    mutating func narrow(_ decoder: inout ProfileDecoder) {
        guard let when else { return }
        narrow(to: when, &decoder)
    }

    private mutating func narrow(to when: (condition: Condition, place: SourcePlace), _ decoder: inout ProfileDecoder) {
        faults = faults?.narrowed(to: when, &decoder)
        phases = phases?.narrowed(to: when, &decoder)
        guard var proxies else { return }
        for index in proxies.indices {
            proxies[index].faults = proxies[index].faults.narrowed(to: when, &decoder)
            proxies[index].phases = proxies[index].phases?.narrowed(to: when, &decoder)
            proxies[index].profile?.narrow(to: when, &decoder)
        }
        self.proxies = proxies
    }
}

extension [FaultDraft] {
    fileprivate func narrowed(
        to when: (condition: Condition, place: SourcePlace),
        _ decoder: inout ProfileDecoder
    ) -> [FaultDraft] {
        map { fault in
            guard !fault.kind.countsConnections else {
                decoder.report(
                    "the profile has a connection-limit fault, which counts every open connection",
                    remedy: "delete “when” of the profile, and write it at the other faults",
                    at: when.place
                )
                return fault
            }
            var fault = fault
            fault.condition = fault.condition.narrowed(to: when.condition)
            return fault
        }
    }
}

extension [PhaseDraft] {
    fileprivate func narrowed(
        to when: (condition: Condition, place: SourcePlace),
        _ decoder: inout ProfileDecoder
    ) -> [PhaseDraft] {
        map { phase in
            var phase = phase
            phase.faults = phase.faults.narrowed(to: when, &decoder)
            return phase
        }
    }
}
