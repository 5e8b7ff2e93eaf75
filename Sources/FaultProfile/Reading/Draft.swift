/// A fault as a file gives it: it may have no name yet.
struct FaultDraft {
    /// The name that the file gives, if any.
    let givenName: String?
    /// Where the name stands, or the fault where it has none.
    let place: SourcePlace
    let stream: StreamSelection
    let condition: Condition
    /// Where the name of the fault that it comes after stands, if it says one.
    let afterPlace: SourcePlace?
    /// Where the proxies that it is narrowed to stand, if it is.
    let proxyPlaces: [SourcePlace]
    let kind: FaultKind
}

/// A phase as a file gives it.
struct PhaseDraft {
    let name: String
    let place: SourcePlace
    let duration: Duration?
    let jitter: Duration
    let faults: [FaultDraft]
}

/// A proxy, and where its name and its addresses stand.
struct ProxyDraft {
    /// Its name and its addresses.
    let definition: ProxyDefinition
    /// What it has beside the profile, or in place of it.
    let faults: [FaultDraft]
    let phases: [PhaseDraft]?
    let repeats: Bool
    /// The profile that it has in place of the one that it stands in, if it says one.
    var profile: ProfileDraft?
    /// The name or the path of that, and where it stands, as long as it hasn't been read.
    var reference: (text: String, file: String, place: SourcePlace)?
    let place: SourcePlace
    let listenPlace: SourcePlace
    let upstreamPlace: SourcePlace
}

/// What one file says; `nil` where it says nothing, and its base may.
struct ProfileDraft {
    var name: String?
    var summary: String?
    var source: String?
    /// Sentences that the source ends with where the profile has a fault of their kind.
    var notes: [(kind: FaultKind.Name, text: String)] = []
    /// Where the source stands.
    var sourcePlace: SourcePlace?
    var seed: UInt64?
    var extends: (reference: String, place: SourcePlace)?
    var proxies: [ProxyDraft]?
    var faults: [FaultDraft]?
    var phases: [PhaseDraft]?
    var repeats: Bool?

    /// This profile on top of its base: what it gives counts, and its faults come after the base's,
    /// except that one of the same given name takes the place of the base's.
    func extending(_ base: ProfileDraft) -> ProfileDraft {
        ProfileDraft(
            name: name ?? base.name,
            summary: summary ?? base.summary,
            source: source,
            notes: notes,
            sourcePlace: sourcePlace,
            seed: seed ?? base.seed,
            extends: extends,
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
