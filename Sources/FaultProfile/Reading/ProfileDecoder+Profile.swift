import Units

extension ProfileDecoder {
    /// The draft of a file, from its root value; all problems are reported.
    mutating func profile(_ node: JSONNode) -> ProfileDraft {
        var draft = ProfileDraft()
        if let (what, remedy) = DocumentKind.problem(of: node) {
            report(what, remedy: remedy, at: node.place, code: .wrongType)
            return draft
        }
        guard let object = object(node, .profile) else { return draft }
        draft = content(of: object)
        draft.name = name(object)
        _ = text(object, "$schema")
        draft.proxies = object["proxies"].flatMap { proxies($0) }
        if let node = object["when"], let condition = Condition.profileTable.read(node, &self) {
            draft.when = (condition, object.place(of: "when"))
        }
        return draft
    }

    /// The keys that a profile and a preset have in common.
    mutating func content(of object: CheckedObject) -> ProfileDraft {
        var draft = ProfileDraft()
        draft.summary = text(object, "summary")
        draft.source = text(object, "source")
        draft.seed = object["seed"].flatMap { wholeNumber($0, key: "seed", in: 0...UInt64.max) }
        draft.repeats = read(.flag, object, "repeat")
        if let node = object["extends"], let reference = text(object, "extends") {
            if reference.isEmpty {
                report("“extends” is empty", remedy: "write the name of a shipped profile or a path", at: node.place)
            } else {
                draft.extends = (reference, node.place)
            }
        }
        draft.faults = object["faults"].flatMap { faults($0) }
        draft.phases = object["phases"].flatMap { phases($0) }
        return draft
    }

    mutating func phases(_ node: JSONNode) -> [PhaseDraft]? {
        guard let nodes = list(node, key: "phases", limit: ProfileLimits.phases, of: "phases") else {
            hasLostFaults = true
            return nil
        }
        var phases: [PhaseDraft] = []
        for (index, node) in nodes.enumerated() {
            guard let object = object(node, .phase) else {
                hasLostFaults = true
                continue
            }
            let name = name(object)
            let duration = read(.period, object, "for")
            let faults = object["faults"].flatMap { self.faults($0) } ?? []
            if object["for"] == nil && index < nodes.count - 1 {
                report(
                    "only the last phase may go without “for”",
                    remedy: "say how long this one lasts: add “\"for\": \"5 s\"”",
                    at: node.place
                )
            }
            let jitter = jitter(object, of: duration)
            guard let name else {
                hasLostFaults = true
                continue
            }
            let place = object["name"]?.place ?? node.place
            phases.append(PhaseDraft(name: name, place: place, duration: duration, jitter: jitter, faults: faults))
        }
        return phases
    }

    /// How much the length of a phase varies: by less than the length, which must be given.
    private mutating func jitter(_ object: CheckedObject, of duration: Duration?) -> Duration {
        guard let jitter = read(.duration, object, "jitter"), let node = object["jitter"] else { return .zero }
        if object["for"] == nil {
            report(
                "a phase that lasts for ever has no “jitter”",
                remedy: "delete it, or say how long the phase lasts: add “\"for\": \"5 s\"”",
                at: node.place
            )
        } else if let duration, jitter >= duration {
            report(
                "the jitter, \(jitter.text), is not below what it is a part of, \(duration.text)",
                remedy: "write less than “for”",
                at: node.place
            )
        }
        return jitter
    }

    mutating func faults(_ node: JSONNode) -> [FaultDraft]? {
        let nodes = list(node, key: "faults", limit: ProfileLimits.faults, of: "faults")
        let faults = nodes?.compactMap { fault($0) }
        if nodes == nil || faults?.count != nodes?.count { hasLostFaults = true }
        return faults
    }

    private mutating func fault(_ node: JSONNode) -> FaultDraft? {
        guard let name = kind(of: node), let object = object(node, name.shape) else { return nil }
        let givenName = self.name(object, limit: ProfileLimits.faultNameLength)
        let stream = read(Form<StreamSelection>.choice, object, "stream") ?? .both
        let condition = object["when"].flatMap { Condition.table.read($0, &self) } ?? Condition()
        let context = FaultContext(object: object, stream: stream, condition: condition)
        let kind = name.definition.read(context, &self)
        if let kind, let http = condition.http {
            http.check(kind, stream: stream, at: object.place(of: "when"), &self)
        }
        return kind.map {
            FaultDraft(
                givenName: givenName,
                place: object["name"]?.place ?? node.place,
                stream: stream,
                condition: condition,
                afterPlace: object["when"]?.places(of: "after").first,
                proxyPlaces: object["when"]?.places(of: "proxy") ?? [],
                kind: $0
            )
        }
    }
}

extension JSONNode {
    /// The places of the values of a key, of which there may be a list.
    fileprivate func places(of key: String) -> [SourcePlace] {
        let nodes = members.filter { $0.key == key }.prefix(1).map(\.node)
        if case .array(let elements) = nodes.first?.value { return elements.map(\.place) }
        return nodes.map(\.place)
    }
}
