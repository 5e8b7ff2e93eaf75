/// `proxies`, and what only one of them has.
extension ProfileDecoder {
    mutating func proxies(_ node: JSONNode) -> [ProxyDraft]? {
        let nodes = list(node, key: "proxies", limit: ProfileLimits.proxies, of: "proxies")
        let proxies = nodes?.compactMap { proxy($0) }
        if proxies?.count != nodes?.count || nodes == nil { hasLostProxies = true }
        return proxies
    }

    private mutating func proxy(_ node: JSONNode) -> ProxyDraft? {
        guard let object = object(node, .proxy) else { return nil }
        let name = name(object)
        let listen = address(object, "listen", lowestPort: 0)
        let mode = fileMode(object, "mode", of: listen)
        let upstream = address(object, "upstream", lowestPort: 1)
        let faults = object["faults"].flatMap { self.faults($0) } ?? []
        let phases = object["phases"].flatMap { self.phases($0) }
        for fault in faults + (phases ?? []).flatMap(\.faults) {
            guard let place = fault.proxyPlaces.first else { continue }
            report("a fault of one proxy is for no other", remedy: "delete “proxy” in its “when”", at: place)
        }
        let repeats = flag(object, "repeat") ?? false
        if repeats, object["phases"] == nil {
            report(
                "“repeat” of a proxy is about its own phases, and it has none",
                remedy: "delete it, or add “\"phases\": [ … ]”",
                at: object.place(of: "repeat")
            )
        }
        var profile: ProfileDraft?
        var reference: (text: String, file: String, place: SourcePlace)?
        switch object["profile"]?.value {
        case .object: profile = object["profile"].flatMap { embeddedProfile($0) }
        case nil: break
        default:
            if let node = object["profile"], let text = text(object, "profile") {
                if text.isEmpty {
                    let remedy = "write the name of a shipped profile or a path"
                    report("“profile” is empty", remedy: remedy, at: node.place)
                } else {
                    reference = (text, file, node.place)
                }
            }
        }
        guard let name, let listen, let upstream else { return nil }
        return ProxyDraft(
            definition: ProxyDefinition(name: name, listen: listen, mode: mode, upstream: upstream),
            faults: faults,
            phases: phases,
            repeats: repeats,
            profile: profile,
            reference: reference,
            place: object["name"]?.place ?? object.place,
            listenPlace: object["listen"]?.place ?? object.place,
            upstreamPlace: object["upstream"]?.place ?? object.place
        )
    }

    /// The profile of a proxy that stands in place.
    private mutating func embeddedProfile(_ node: JSONNode) -> ProfileDraft? {
        guard let object = object(node, .embeddedProfile) else { return nil }
        var draft = ProfileDraft()
        draft.name = name(object)
        draft.faults = object["faults"].flatMap { faults($0) }
        draft.phases = object["phases"].flatMap { phases($0) }
        draft.repeats = flag(object, "repeat")
        return draft
    }

    /// `when.proxy`: one name, or a list of them.
    mutating func proxyNames(_ node: JSONNode) -> [String] {
        switch node.value {
        case .text:
            return proxyName(node).map { [$0] } ?? []
        case .array(let nodes):
            if nodes.isEmpty {
                report("“proxy” is an empty list", remedy: "write the name of a proxy, or delete it", at: node.place)
            }
            let names = list(node, key: "proxy", limit: ProfileLimits.proxies, of: "proxies in “when”") ?? []
            return names.compactMap { proxyName($0) }
        case .object, .number, .boolean, .null, .unreadable:
            let expected = "the name of a proxy, or a list of such"
            reportType(of: node, expected: expected, key: "proxy", remedy: "write “\"web\"” or “[\"web\", \"api\"]”")
            return []
        }
    }

    private mutating func proxyName(_ node: JSONNode) -> String? {
        guard let name = text(node, key: "proxy", limit: ProfileLimits.nameLength) else { return nil }
        if name.isEmpty { report("“proxy” is empty", remedy: "write the name of a proxy", at: node.place) }
        return name.isEmpty ? nil : name
    }

    /// Where the names of `when.proxy` stand, as many as `proxyNames` gives.
    func places(ofProxies when: JSONNode) -> [SourcePlace] {
        guard case .object(let members) = when.value, let node = members.first(where: { $0.key == "proxy" })?.node
        else {
            return []
        }
        guard case .array(let nodes) = node.value else { return [node.place] }
        return nodes.map(\.place)
    }

    /// Reads the profiles that proxies name, each once. Faults of theirs that couldn't be read have been reported.
    mutating func readProfiles(
        of proxies: inout [ProxyDraft],
        reading read: (ProfileReference, SourcePlace, inout ProfileDecoder) -> ProfileDraft?
    ) {
        var known: [ProfileReference: ProfileDraft?] = [:]
        for index in proxies.indices {
            guard let reference = proxies[index].reference else { continue }
            let target = ProfileReference(reference.text, in: reference.file)
            let draft = known[target] ?? read(target, reference.place, &self)
            known[target] = .some(draft)
            proxies[index].profile = draft ?? ProfileDraft()
            proxies[index].reference = nil
        }
    }
}
