import Units

/// Writes profiles as JSON that `ProfileReader` reads back to the same value.
///
/// Extended profiles are included, every fault has its name, and defaults are omitted.
public enum ProfileWriter {
    /// The profile as a file, with line ends.
    public static func text(of profile: Profile) -> String { json(of: profile).readable + "\n" }

    /// The profile on one line: the same text for the same profile, whatever its file looks like.
    public static func canonicalText(of profile: Profile) -> String { json(of: profile).compact }

    /// The profile as a value to be written, perhaps within another.
    package static func json(of profile: Profile) -> JSONText {
        var members: [(String, JSONText)] = [("name", .text(profile.name))]
        if !profile.summary.isEmpty { members.append(("summary", .text(profile.summary))) }
        if !profile.source.isEmpty { members.append(("source", .text(profile.source))) }
        if let seed = profile.seed { members.append(("seed", .number(seed))) }
        if !profile.proxies.isEmpty { members.append(("proxies", .array(profile.proxies.map(proxy)))) }
        let own = self.members(profile.faults, profile.phases, repeats: profile.repeats)
        return .object(members.map { (key: $0.0, value: $0.1) } + own)
    }

    private static func proxy(_ proxy: ProxyDefinition) -> JSONText {
        var members: [(key: String, value: JSONText)] = [("name", .text(proxy.name)), ("listen", .text(proxy.listen))]
        if let mode = proxy.mode { members.append(("mode", .text(mode.description))) }
        members.append(("upstream", .text(proxy.upstream)))
        if let profile = proxy.profile {
            let own = self.members(profile.faults, profile.phases, repeats: profile.repeats)
            members.append(("profile", .object([("name", .text(profile.name))] + own)))
        }
        members += self.members(proxy.faults, proxy.phases ?? [], repeats: proxy.repeats)
        // An empty list replaces the profile's phases as well.
        if proxy.phases?.isEmpty == true { members.append(("phases", .array([]))) }
        return .object(members)
    }

    private static func members(
        _ faults: [Fault],
        _ phases: [Phase],
        repeats: Bool
    ) -> [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = []
        if !faults.isEmpty { members.append(("faults", .array(faults.map(json(of:))))) }
        if !phases.isEmpty { members.append(("phases", .array(phases.map(phase)))) }
        if repeats { members.append(("repeat", .flag(true))) }
        return members
    }

    private static func phase(_ phase: Phase) -> JSONText {
        var members: [(key: String, value: JSONText)] = [("name", .text(phase.name))]
        if let duration = phase.duration { members.append(("for", .text(duration.text))) }
        if phase.jitter > .zero { members.append(("jitter", .text(phase.jitter.text))) }
        if !phase.faults.isEmpty { members.append(("faults", .array(phase.faults.map(json(of:))))) }
        return .object(members)
    }

    /// A fault as an element of a profile's list.
    package static func json(of fault: Fault) -> JSONText {
        var members: [(key: String, value: JSONText)] = [
            ("name", .text(fault.name)), ("kind", .text(fault.kind.name.rawValue)),
        ]
        if fault.stream != .both { members.append(("stream", .text(fault.stream.rawValue))) }
        members += fault.kind.definition.writtenMembers
        let condition = Condition.table.written(fault.condition)
        if !condition.isEmpty { members.append(("when", .object(condition))) }
        return .object(members)
    }
}

extension Fault {
    /// The kind and its values on one line: "latency 200 ms, jitter 20 ms".
    package var shortText: String {
        let values = kind.definition.writtenMembers.enumerated().compactMap { index, member -> String? in
            let text: String
            switch member.value {
            case .text(let value): text = value
            case .number, .signed, .flag, .literal: text = member.value.compact
            case .object, .array, .null: return index == 0 ? nil : "\(member.key) …"
            }
            return index == 0 ? text : "\(member.key) \(text)"
        }
        return "\(kind.name.rawValue) \(values.joined(separator: ", "))".trimmedEnd.shortened(to: 200)
    }
}

extension String {
    fileprivate var trimmedEnd: String { hasSuffix(" ") ? String(dropLast()) : self }
}
