import Units

/// Warnings about a valid profile: parts that probably do something else than they were written for.
extension ProfileReader {
    /// The warnings, in the order of the profile, at most `ProfileProblems.limit`. Their code is `doubtful`.
    ///
    /// - Parameter source: the file that `profile` was read from. A part that it doesn't have itself, such as one that it
    ///   extends, has line 0.
    package static func doubts(about profile: Profile, from source: ProfileSource) -> [Problem] {
        let root = source.preset == nil ? try? document(source, limit: ProfileLimits.fileBytes) : nil
        let extends = root?.members.contains { $0.key == "extends" } ?? true
        return doubts(about: profile).prefix(ProfileProblems.limit).map { doubt in
            let node = extends ? nil : root?.node(at: doubt.path[...])
            return Problem(
                file: source.file,
                line: node?.line ?? 0,
                column: node?.column ?? 0,
                what: doubt.what,
                remedy: doubt.remedy,
                code: .doubtful
            )
        }
    }

    private static func doubts(about profile: Profile) -> [Doubt] {
        let own = Doubt.all(in: profile.phases, with: profile.faults, always: profile.faults, at: [])
        return own
            + profile.proxies.enumerated().flatMap { index, proxy in
                let path = ["proxies", "\(index)"]
                if let own = proxy.profile {
                    return Doubt.all(in: own.phases, with: own.faults, always: own.faults, at: path + ["profile"])
                }
                let always = profile.faults + proxy.faults
                return Doubt.all(in: proxy.phases ?? [], with: proxy.faults, always: always, at: path)
            } + Doubt.unshared(in: profile.proxies)
    }
}

/// A part of a profile that probably does something else than it was written for.
private struct Doubt {
    /// The keys and indices that lead to the part.
    let path: [String]
    let what: String
    let remedy: String

    /// The doubts about phases and the faults beside them, of which `always` hold in every phase.
    static func all(in phases: [Phase], with faults: [Fault], always: [Fault], at path: [String]) -> [Doubt] {
        let beside = faults.enumerated().compactMap { index, fault in
            fault.condition.hasTimes ? spared(by: fault, at: path + ["faults", "\(index)"]) : nil
        }
        let within = phases.indices.flatMap { index -> [Doubt] in
            let path = path + ["phases", "\(index)"]
            let cuts = phases[index].faults.enumerated().compactMap { spared(by: $1, at: path + ["faults", "\($0)"]) }
            return (unlimited(index, of: phases, always, at: path).map { [$0] } ?? []) + cuts
        }
        return beside + within
    }

    /// Global rates with the values of another proxy's that no other proxy shares, because its fault has another name. The
    /// first of them is fine, unless the others share theirs.
    static func unshared(in proxies: [ProxyDefinition]) -> [Doubt] {
        let rates = proxies.enumerated().flatMap { index, proxy in
            let path = ["proxies", "\(index)"]
            let rates = GlobalRate.all(in: proxy.phases ?? [], with: proxy.faults, of: index, at: path)
            guard let own = proxy.profile else { return rates }
            return rates + GlobalRate.all(in: own.phases, with: own.faults, of: index, at: path + ["profile"])
        }
        let isShared = rates.map { rate in rates.contains { $0.isAlike(rate) && $0.fault.name == rate.fault.name } }
        return rates.indices.compactMap { index in
            let rate = rates[index]
            guard !isShared[index],
                let other = rates.indices.first(where: {
                    rates[$0].isAlike(rate) && (rates[$0].proxy < rate.proxy || isShared[$0])
                })
            else { return nil }
            let (name, otherName) = (rate.fault.name.quoted, rates[other].fault.name.quoted)
            return Doubt(
                path: rate.path,
                what: "the global rate \(name) isn't shared with \(otherName), which has another name",
                remedy: "give both faults one “name”"
            )
        }
    }

    /// A phase without a rate, and without an outage, before and after which phases have a rate.
    private static func unlimited(_ index: Int, of phases: [Phase], _ always: [Fault], at path: [String]) -> Doubt? {
        guard !phases[index].faults.contains(where: \.isNetworkAway) else { return nil }
        let streams = [StreamSelection.upstream, .downstream].filter { stream in
            let hasRate = phases.map { phase in (phase.faults + always).contains { $0.limitsRate(of: stream) } }
            return !hasRate[index] && hasRate[..<index].contains(true) && hasRate[index...].contains(true)
        }
        guard let stream = streams.first else { return nil }
        let which = streams.count > 1 ? "" : " \(stream.rawValue)"
        return Doubt(
            path: path,
            what:
                "the phase \(phases[index].name.quoted) has no rate\(which), between phases with one: it is unlimited",
            remedy: "give it a “bandwidth” fault; 10 Gbit/s is as good as none"
        )
    }

    /// A cut before the first byte that begins while connections are open, which have passed that place.
    private static func spared(by fault: Fault, at path: [String]) -> Doubt? {
        guard case .cut(let cut) = fault.kind, cut.position == .at(.zero), cut.base == .connection,
            fault.condition.ageUntil == nil
        else { return nil }
        let remedy =
            switch cut.how {
            case .reset: "write “{ \"kind\": \"outage\", \"how\": \"reset\" }” to end them too"
            case .silence: "write “{ \"kind\": \"outage\", \"how\": \"silence\" }” to silence them too"
            case .close, .notify: "write “\"traffic\": \"0 s\"” in place of “at” to end them too, at their next byte"
            }
        return Doubt(
            path: path,
            what: "the cut \(fault.name.quoted) at 0 B spares connections that are open when it begins",
            remedy: remedy
        )
    }
}

/// A fault of one proxy with a rate for all proxies.
private struct GlobalRate {
    let proxy: Int
    let path: [String]
    let fault: Fault

    /// Those of a proxy's own definition, or of the profile that it names.
    static func all(in phases: [Phase], with faults: [Fault], of proxy: Int, at path: [String]) -> [GlobalRate] {
        let places = [(path, faults)] + phases.enumerated().map { (path + ["phases", "\($0)"], $1.faults) }
        return places.flatMap { path, faults in
            faults.enumerated().compactMap { index, fault in
                guard case .bandwidth(let rate) = fault.kind, rate.scope == .global else { return nil }
                return GlobalRate(proxy: proxy, path: path + ["faults", "\(index)"], fault: fault)
            }
        }
    }

    /// Whether another proxy has the same rate in one of the directions.
    func isAlike(_ other: GlobalRate) -> Bool {
        guard proxy != other.proxy, fault.kind == other.fault.kind else { return false }
        return fault.stream == other.fault.stream || fault.stream == .both || other.fault.stream == .both
    }
}

extension Condition {
    /// Whether the fault begins at a time of the proxy's clock.
    fileprivate var hasTimes: Bool { duty != nil || (clock.map { $0.from > .zero } ?? false) }
}

extension Fault {
    fileprivate func limitsRate(of stream: StreamSelection) -> Bool {
        (self.stream == .both || self.stream == stream) && kind.figures.rate != nil
    }

    /// Whether nothing passes while the fault is on.
    fileprivate var isNetworkAway: Bool {
        if case .discard = kind { true } else { kind.figures.outage != nil }
    }
}

extension JSONNode {
    /// The value to which keys and indices lead; `nil` if there is none.
    fileprivate func node(at path: ArraySlice<String>) -> JSONNode? {
        guard let first = path.first else { return self }
        let next: JSONNode?
        switch value {
        case .object(let members): next = members.first { $0.key == first }?.node
        case .array(let elements): next = Int(first).flatMap { elements.indices.contains($0) ? elements[$0] : nil }
        case .text, .number, .boolean, .null, .unreadable: next = nil
        }
        return next?.node(at: path.dropFirst())
    }
}
