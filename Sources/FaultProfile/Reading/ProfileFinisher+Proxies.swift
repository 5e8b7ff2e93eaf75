import Units

/// Faults of single proxies.
extension ProfileFinisher {
    /// Reports names in `when.proxy` that none of the profile's proxies has, also in the profiles of the proxies. Where the
    /// profile has none, the command line gives a name.
    mutating func checkProxyNames(in draft: ProfileDraft) {
        let known = (draft.proxies ?? []).map(\.definition.name)
        guard !known.isEmpty, !decoder.hasLostProxies else { return }
        // Several proxies may name one profile.
        var reported: Set<SourcePlace> = []
        for fault in ([draft] + (draft.proxies ?? []).compactMap(\.profile)).flatMap(\.selectingFaults) {
            for (name, place) in zip(fault.condition.proxies, fault.proxyPlaces)
            where !known.contains(name) && reported.insert(place).inserted {
                let nearest = Spelling.nearest(to: name, among: known)
                let names = (nearest.isEmpty ? known : nearest).map(\.quoted)
                decoder.report(
                    "the profile has no proxy \(name.quoted)",
                    remedy: "write \(names.prefix(8).joined(separator: " or "))",
                    at: place
                )
            }
        }
    }

    /// `profile` with its proxies, whose own faults get names that are unique on their proxy.
    mutating func adding(_ proxies: [ProxyDraft], to profile: Profile, _ names: Names) -> Profile {
        var result = profile
        for draft in proxies {
            let proxy = draft.definition.name
            // The faults that the proxy takes from the profile.
            var shared = draft.profile == nil ? profile.faults : []
            if draft.profile == nil, draft.phases == nil { shared += profile.phases.flatMap(\.faults) }
            shared.removeAll { !$0.condition.admits(proxy: proxy) }
            var taken = names.filter { name, _ in shared.contains { $0.name == name } }
            let definition = checkingOrder(on: proxy, beside: shared.map(\.name)) { finisher in
                var definition = draft.definition
                definition.profile = draft.profile.map { other in
                    finisher.checkUnique((other.phases ?? []).map { ($0.name, $0.place) }, what: "phase")
                    return ProxyProfile(
                        name: other.name ?? "",
                        faults: finisher.named(other.faults ?? [], prefix: "", &taken),
                        phases: finisher.named(other.phases ?? [], &taken),
                        repeats: other.repeats ?? false
                    )
                }
                finisher.checkUnique((draft.phases ?? []).map { ($0.name, $0.place) }, what: "phase")
                definition.faults = finisher.named(draft.faults, prefix: "\(proxy)/", &taken)
                definition.phases = draft.phases.map { finisher.named($0, &taken) }
                definition.repeats = draft.repeats
                return definition
            }
            result.proxies.append(definition)
        }
        return result
    }
}

extension ProfileDraft {
    /// The faults that may select proxies.
    fileprivate var selectingFaults: [FaultDraft] { (faults ?? []) + (phases ?? []).flatMap(\.faults) }
}
