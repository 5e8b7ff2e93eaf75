import Units

/// Writes profiles as JSON that `ProfileReader` reads back to the same value.
///
/// What the profile has from others, by `extends`, is in it; every fault has its name; what has its default is left out.
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
        // Phases that are none take the place of those of the profile as well.
        if proxy.phases?.isEmpty == true { members.append(("phases", .array([]))) }
        return .object(members)
    }

    private static func members(
        _ faults: [Fault],
        _ phases: [Phase],
        repeats: Bool
    ) -> [(key: String, value: JSONText)] {
        var members: [(key: String, value: JSONText)] = []
        if !faults.isEmpty { members.append(("faults", .array(faults.map(fault)))) }
        if !phases.isEmpty { members.append(("phases", .array(phases.map(phase)))) }
        if repeats { members.append(("repeat", .flag(true))) }
        return members
    }

    private static func phase(_ phase: Phase) -> JSONText {
        var members: [(key: String, value: JSONText)] = [("name", .text(phase.name))]
        if let duration = phase.duration { members.append(("for", .text(duration.text))) }
        if phase.jitter > .zero { members.append(("jitter", .text(phase.jitter.text))) }
        if !phase.faults.isEmpty { members.append(("faults", .array(phase.faults.map(fault)))) }
        return .object(members)
    }

    private static func fault(_ fault: Fault) -> JSONText {
        var members: [(key: String, value: JSONText)] = [
            ("name", .text(fault.name)), ("kind", .text(fault.kind.name.rawValue)),
        ]
        if fault.stream != .both { members.append(("stream", .text(fault.stream.rawValue))) }
        members += fault.kind.definition.writtenMembers
        if fault.condition != Condition() { members.append(("when", condition(fault.condition))) }
        return .object(members)
    }

    private static func condition(_ condition: Condition) -> JSONText {
        var members: [(key: String, value: JSONText)] = []
        if condition.proxies.count > 1 {
            members.append(("proxy", .array(condition.proxies.map { .text($0) })))
        } else if let proxy = condition.proxies.first {
            members.append(("proxy", .text(proxy)))
        }
        if let numbers = condition.connections.written { members.append(("connection", numbers)) }
        if condition.chance < .always { members.append(("chance", .text(condition.chance.text))) }
        if condition.ageFrom > .zero || condition.ageUntil != nil {
            members.append(("age", window(from: condition.ageFrom, until: condition.ageUntil)))
        }
        if condition.clients.count > 1 {
            members.append(("client", .array(condition.clients.map { .text($0.text) })))
        } else if let client = condition.clients.first {
            members.append(("client", .text(client.text)))
        }
        if let clock = condition.clock { members.append(("clock", window(from: clock.from, until: clock.until))) }
        if let duty = condition.duty { members.append(("duty", .object(DutyCycle.table.written(duty)))) }
        if let after = condition.after { members.append(("after", .text(after))) }
        if let http = condition.http { members.append(("http", .object(HTTPCondition.table.written(http)))) }
        return .object(members)
    }

    /// "5 s", "5 s..10 s", "..10 s".
    private static func window(from: Duration, until: Duration?) -> JSONText {
        guard let until else { return .text(from.text) }
        return .text(from > .zero ? "\(from.text)..\(until.text)" : "..\(until.text)")
    }
}

extension ConnectionSelection {
    /// As a profile has it; `nil` for all.
    var written: JSONText? {
        switch self {
        case .all: nil
        case .range(let range) where range.lowerBound == range.upperBound: .number(range.lowerBound)
        case .range(let range):
            .text("\(range.lowerBound)..\(range.upperBound == .max ? "" : String(range.upperBound))")
        case .every(let step): .object([("every", .number(step))])
        }
    }
}
