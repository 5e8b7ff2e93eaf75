import Units

/// Makes a profile of a merged draft: names the faults, and checks names, addresses and the number of faults.
struct ProfileFinisher {
    /// The names of faults that are taken, where.
    typealias Names = [String: SourcePlace]

    var decoder: ProfileDecoder
    private var faultCount = 0
    private var order = FaultOrder()
    /// The places of `after` that were reported.
    private var missing: Set<SourcePlace> = []

    /// The profile of `draft`, to be used only if no problem was found, then or before.
    static func finish(_ draft: ProfileDraft, _ decoder: inout ProfileDecoder) -> Profile {
        var finisher = ProfileFinisher(decoder: decoder)
        let phases = draft.phases ?? []
        let proxies = draft.proxies ?? []
        finisher.checkUnique(phases.map { ($0.name, $0.place) }, what: "phase")
        finisher.checkUnique(proxies.map { ($0.definition.name, $0.place) }, what: "proxy")
        finisher.checkAddresses(proxies)
        var names: Names = [:]
        let profile = Profile(
            name: draft.name ?? "",
            summary: draft.summary ?? "",
            source: draft.source ?? "",
            seed: draft.seed,
            proxies: [],
            faults: finisher.named(draft.faults ?? [], prefix: "", &names),
            phases: finisher.named(phases, &names),
            repeats: draft.repeats ?? false
        )
        finisher.checkProxyNames(in: draft)
        finisher.checkOrder()
        let result = finisher.adding(proxies, to: profile, names)
        decoder = finisher.decoder
        return result
    }

    mutating func checkUnique(_ names: [(name: String, place: SourcePlace)], what: String) {
        var first: [String: SourcePlace] = [:]
        for (name, place) in names {
            if let other = first[name] {
                reportTaken(name, what: what, other: other, at: place)
            } else {
                first[name] = place
            }
        }
    }

    /// Reports proxies that listen on one address or forward to themselves. Host names aren't resolved; those conflicts are
    /// reported at start.
    private mutating func checkAddresses(_ proxies: [ProxyDraft]) {
        var first: [String: SourcePlace] = [:]
        for proxy in proxies {
            let listen = AddressText.normalized(proxy.definition.listen)
            let isUnix = UnixSocketName.isMeant(by: listen)
            // Each takes a port of its own.
            if listen.hasSuffix(":0"), !isUnix { continue }
            if let other = first[listen] {
                decoder.report(
                    "\(proxy.definition.listen.quoted) is where another proxy listens (\(ProfileFinisher.line(of: other, from: proxy.place)))",
                    remedy: isUnix ? "take another path" : "take another port, or 0 for a free one",
                    at: proxy.listenPlace
                )
            } else {
                first[listen] = proxy.listenPlace
            }
            if listen == AddressText.normalized(proxy.definition.upstream) {
                decoder.report(
                    "the proxy \(proxy.definition.name.quoted) forwards to itself",
                    remedy: "write the server's address, or listen on another \(isUnix ? "path" : "port")",
                    at: proxy.upstreamPlace
                )
            }
        }
    }

    /// The faults of a list with their names: the given one, or the kind with its number in the list.
    mutating func named(_ drafts: [FaultDraft], prefix: String, _ names: inout Names) -> [Fault] {
        var countOfKind: [FaultKind.Name: Int] = [:]
        var faults: [Fault] = []
        for draft in drafts {
            let kind = draft.kind.name
            let number = countOfKind[kind, default: 0] + 1
            countOfKind[kind] = number
            let defaultName = prefix + kind.rawValue + (number > 1 ? "-\(number)" : "")
            let name = draft.givenName ?? defaultName
            if let other = names[name] {
                reportTaken(name, what: "fault", other: other, at: draft.place)
            } else {
                names[name] = draft.place
            }
            countFault(at: draft.place)
            order.add(name, after: draft.condition.after, at: draft.afterPlace ?? draft.place)
            faults.append(Fault(name: name, stream: draft.stream, condition: draft.condition, kind: draft.kind))
        }
        return faults
    }

    mutating func named(_ phases: [PhaseDraft], _ names: inout Names) -> [Phase] {
        phases.map { phase in
            Phase(
                name: phase.name,
                duration: phase.duration,
                jitter: phase.jitter,
                faults: named(phase.faults, prefix: "\(phase.name)/", &names)
            )
        }
    }

    /// Checks the order of the faults of a proxy: those added by `body`, and those of the profile with these names.
    mutating func checkingOrder<Result>(
        on proxy: String,
        beside shared: [String],
        _ body: (inout ProfileFinisher) -> Result
    ) -> Result {
        let whole = order
        defer { order = whole }
        order = whole.narrowed(to: Set(shared), on: proxy)
        let result = body(&self)
        checkOrder()
        return result
    }

    /// Checks the order of the faults so far. Beyond the limit it isn't checked, because it takes too long.
    private mutating func checkOrder() {
        if faultCount <= ProfileLimits.faults { order.check(&decoder, &missing) }
    }

    private mutating func countFault(at place: SourcePlace) {
        faultCount += 1
        guard faultCount == ProfileLimits.faults + 1 else { return }
        decoder.report(
            "there are more than \(ProfileLimits.faults) faults in the profile with its phases and bases",
            remedy: "delete some",
            at: place
        )
    }

    private mutating func reportTaken(_ name: String, what: String, other: SourcePlace, at place: SourcePlace) {
        decoder.report(
            "the \(what) name \(name.quoted) is taken by another one (\(ProfileFinisher.line(of: other, from: place)))",
            remedy: "give this \(what) a “name” that no other has",
            at: place
        )
    }

    private static func line(of other: SourcePlace, from place: SourcePlace) -> String {
        "line \(other.place.line)" + (other.file == place.file ? "" : " of another file, see “extends”")
    }
}
