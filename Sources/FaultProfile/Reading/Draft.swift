/// A fault as read from a file, perhaps without a name.
struct FaultDraft {
    /// The given name, if any.
    let givenName: String?
    /// The place of the name, or of the fault without one.
    let place: SourcePlace
    let stream: StreamSelection
    var condition: Condition
    let afterPlace: SourcePlace?
    let proxyPlaces: [SourcePlace]
    let kind: FaultKind
}

/// A phase as read from a file.
struct PhaseDraft {
    let name: String
    let place: SourcePlace
    let duration: Duration?
    let jitter: Duration
    var faults: [FaultDraft]
}

/// A proxy as read from a file.
struct ProxyDraft {
    /// Its name and its addresses.
    let definition: ProxyDefinition
    /// The faults that it has in addition to the profile.
    var faults: [FaultDraft]
    var phases: [PhaseDraft]?
    let repeats: Bool
    /// The profile that replaces the surrounding one for this proxy.
    var profile: ProfileDraft?
    /// The reference to that profile, until it is read.
    var reference: (text: String, file: String, place: SourcePlace)?
    let place: SourcePlace
    let listenPlace: SourcePlace
    let upstreamPlace: SourcePlace
}

/// The content of one file; `nil` values may come from its base.
struct ProfileDraft {
    var name: String?
    var summary: String?
    var source: String?
    /// Sentences added to the source if the profile has a fault of their kind.
    var notes: [(kind: FaultKind.Name, text: String)] = []
    var sourcePlace: SourcePlace?
    var seed: UInt64?
    var extends: (reference: String, place: SourcePlace)?
    /// The connections that every fault is narrowed to.
    var when: (condition: Condition, place: SourcePlace)?
    var proxies: [ProxyDraft]?
    var faults: [FaultDraft]?
    var phases: [PhaseDraft]?
    var repeats: Bool?

    /// This profile merged with its base: its values take precedence, and its faults are added to the base's, replacing
    /// those of the same given name.
    func extending(_ base: ProfileDraft) -> ProfileDraft {
        ProfileDraft(
            name: name ?? base.name,
            summary: summary ?? base.summary,
            source: source,
            notes: notes,
            sourcePlace: sourcePlace,
            seed: seed ?? base.seed,
            extends: extends,
            when: when.map { ($0.condition.narrowed(to: base.when?.condition ?? Condition()), $0.place) } ?? base.when,
            proxies: proxies ?? base.proxies,
            faults: ProfileDraft.merged(faults ?? [], onto: base.faults ?? []),
            phases: phases ?? base.phases,
            repeats: repeats ?? base.repeats
        )
    }

    private static func merged(_ faults: [FaultDraft], onto base: [FaultDraft]) -> [FaultDraft] {
        var result = base
        var replaceable: [String: Int] = [:]
        for (index, fault) in base.enumerated() {
            if let name = fault.givenName, replaceable[name] == nil { replaceable[name] = index }
        }
        for fault in faults {
            // A name replaces once: the second of one file is left for the check of unique names.
            if let name = fault.givenName, let index = replaceable.removeValue(forKey: name) {
                result[index] = fault
            } else {
                result.append(fault)
            }
        }
        return result
    }
}
