extension FaultKind {
    /// Whether the fault is about all connections together, so that it can't be narrowed to some.
    public var countsConnections: Bool { if case .connectionLimit = self { true } else { false } }
}

extension ProfileDraft {
    /// Narrows every fault as the `when` of a profile says, and reports those that it can't narrow.
    mutating func narrow(to when: (condition: Condition, place: SourcePlace)?, _ decoder: inout ProfileDecoder) {
        guard let when else { return }
        change { fault in
            if !fault.kind.countsConnections {
                fault.condition = fault.condition.narrowed(to: when.condition)
                return
            }
            decoder.report(
                "the profile has a connection-limit fault, which counts every open connection",
                remedy: "delete “when” of the profile, and write it at the other faults",
                at: when.place
            )
        }
    }

    private mutating func change(_ body: (inout FaultDraft) -> Void) {
        faults?.change(body)
        for index in (phases ?? []).indices { phases?[index].faults.change(body) }
        for index in (proxies ?? []).indices {
            proxies?[index].faults.change(body)
            for phase in (proxies?[index].phases ?? []).indices { proxies?[index].phases?[phase].faults.change(body) }
            proxies?[index].profile?.change(body)
        }
    }
}

extension [FaultDraft] {
    fileprivate mutating func change(_ body: (inout FaultDraft) -> Void) {
        for index in indices { body(&self[index]) }
    }
}
