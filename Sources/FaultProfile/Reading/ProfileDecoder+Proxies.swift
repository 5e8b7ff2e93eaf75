/// `proxies` and their own faults.
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
        let repeats = read(.flag, object, "repeat") ?? false
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

    /// A proxy's profile given in place.
    private mutating func embeddedProfile(_ node: JSONNode) -> ProfileDraft? {
        guard let object = object(node, .embeddedProfile) else { return nil }
        var draft = ProfileDraft()
        draft.name = name(object)
        draft.faults = object["faults"].flatMap { faults($0) }
        draft.phases = object["phases"].flatMap { phases($0) }
        draft.repeats = read(.flag, object, "repeat")
        return draft
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
