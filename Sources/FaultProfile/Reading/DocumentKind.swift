import Units

/// Recognizes documents that aren't profiles, but belong to another command or to another tool.
enum DocumentKind {
    /// The kind of a document that is not a profile, and the remedy; `nil` for a profile, valid or not.
    static func problem(of node: JSONNode) -> (what: String, remedy: String)? {
        if let presets = PresetFile(node) {
            let names = presets.names.prefix(8).map(\.quoted).joined(separator: ", ")
            return ("this is a file of presets, not a profile", "name one of them: \(names)")
        }
        switch node.value {
        case .array(let elements):
            guard let first = elements.first?.members, first.contains(where: { $0.key == "upstream" }) else {
                return nil
            }
            return (
                "this is a list of proxies as Toxiproxy has, not a profile",
                "run “squall serve --config FILE”, or write “{ \"name\": …, \"proxies\": [ … ] }”"
            )
        case .object(let members):
            let has: (String) -> Bool = { key in members.contains { $0.key == key } }
            if has("command"), has("proxies") {
                return ("this is a scenario, not a profile", "run “squall test FILE”, which checks it first")
            }
            if has("type"), has("attributes") {
                return (
                    "this is a toxic as Toxiproxy has, not a profile",
                    "write “{ \"name\": …, \"faults\": [ { \"kind\": … } ] }”"
                )
            }
            let known = ObjectShape.profile.keys.map(\.name)
            if members.isEmpty || members.contains(where: { known.contains($0.key) }) { return nil }
            let compared = members.prefix(ProfileLimits.comparedKeys)
            if compared.contains(where: { ObjectShape.profile.hasKey(near: $0.key) || isForeign($0) }) { return nil }
            let keys = ObjectShape.profile.keys.map(\.name.quoted).joined(separator: ", ")
            return ("this is no profile: it has none of the keys of one", "check the path; the keys are \(keys)")
        case .text, .number, .boolean, .null, .unreadable: return nil
        }
    }

    /// Whether another tool's word is the key of a member.
    private static func isForeign(_ member: JSONMember) -> Bool {
        let remedy = ForeignWords.remedy(for: member, in: .profile)
        return !remedy.hasPrefix("its keys are")
    }
}
