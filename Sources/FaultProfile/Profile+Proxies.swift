extension Profile {
    /// Whether its proxies don't all have the same faults.
    public var hasFaultsOfProxies: Bool {
        if proxies.contains(where: { !$0.faults.isEmpty || $0.phases != nil || $0.profile != nil }) { return true }
        return allFaults.contains { !$0.condition.proxies.isEmpty }
    }

    /// The profile as the proxy called `name` has it: without what is for others, and with what is its own. A proxy that
    /// the profile doesn't define has what is for all of them, or for its name.
    public func narrowed(to name: String) -> Profile {
        guard hasFaultsOfProxies else { return self }
        let proxy = proxies.first { $0.name == name }
        var result = self
        if let other = proxy?.profile {
            (result.faults, result.phases, result.repeats) = (other.faults, other.phases, other.repeats)
        }
        if let phases = proxy?.phases { (result.phases, result.repeats) = (phases, proxy?.repeats ?? false) }
        result.faults = result.faults.narrowed(to: name) + (proxy?.faults ?? [])
        for index in result.phases.indices {
            result.phases[index].faults = result.phases[index].faults.narrowed(to: name)
        }
        result.proxies = proxy.map { [ProxyDefinition(name: $0.name, listen: $0.listen, upstream: $0.upstream)] } ?? []
        return result
    }

    /// All of its faults: those that are always on, those of its phases, and those of its proxies.
    public var allFaults: [Fault] {
        var all = faults + phases.flatMap(\.faults)
        for proxy in proxies {
            if let other = proxy.profile { all += other.faults + other.phases.flatMap(\.faults) }
            all += proxy.faults
            all += (proxy.phases ?? []).flatMap(\.faults)
        }
        return all
    }

    /// The profile with every one of its faults replaced by what `change` makes of it.
    public func mapFaults(_ change: (Fault) -> Fault) -> Profile {
        var result = self
        result.faults = faults.map(change)
        result.phases = phases.mapFaults(change)
        for index in proxies.indices {
            result.proxies[index].faults = proxies[index].faults.map(change)
            result.proxies[index].phases = proxies[index].phases?.mapFaults(change)
            if let other = proxies[index].profile {
                result.proxies[index].profile?.faults = other.faults.map(change)
                result.proxies[index].profile?.phases = other.phases.mapFaults(change)
            }
        }
        return result
    }
}

extension [Phase] {
    fileprivate func mapFaults(_ change: (Fault) -> Fault) -> [Phase] {
        map { phase in
            var phase = phase
            phase.faults = phase.faults.map(change)
            return phase
        }
    }
}

extension [Fault] {
    /// Those that a proxy has, whatever its name is to them.
    fileprivate func narrowed(to name: String) -> [Fault] {
        compactMap { fault in
            guard fault.condition.admits(proxy: name) else { return nil }
            var fault = fault
            fault.condition.proxies = []
            return fault
        }
    }
}

extension Condition {
    /// Whether a proxy is among those that it is narrowed to, if it is.
    func admits(proxy name: String) -> Bool { proxies.isEmpty || proxies.contains(name) }
}
