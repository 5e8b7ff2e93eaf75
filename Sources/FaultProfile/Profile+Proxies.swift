extension Profile {
    /// Whether its proxies don't all have the same faults.
    public var hasFaultsOfProxies: Bool {
        if proxies.contains(where: { !$0.faults.isEmpty || $0.phases != nil || $0.profile != nil }) { return true }
        return allFaults.contains { !$0.condition.proxies.isEmpty }
    }

    /// The profile of the proxy called `name`: without the faults of other proxies. A proxy that the profile doesn't define
    /// has the faults for all proxies or for its name.
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

    /// All faults, including those of phases and proxies.
    public var allFaults: [Fault] {
        var all = faults + phases.flatMap(\.faults)
        for proxy in proxies {
            if let other = proxy.profile { all += other.faults + other.phases.flatMap(\.faults) }
            all += proxy.faults
            all += (proxy.phases ?? []).flatMap(\.faults)
        }
        return all
    }

    /// The profile with `change` applied to every fault.
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
    /// The faults of a proxy, without their conditions on proxies.
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
    func admits(proxy name: String) -> Bool { proxies.isEmpty || proxies.contains(name) }
}
