import Units

/// The kind of a fault.
extension ProfileDecoder {
    /// The kind of a fault, which determines its other keys.
    mutating func kind(of node: JSONNode) -> FaultKind.Name? {
        let shape = ObjectShape(title: "a fault", keys: [.required("kind", .choice([]), "what it does")])
        guard case .object(let members) = node.value else {
            if case .unreadable = node.value { return nil }
            report(
                "a fault is an object, not \(node.value.form)",
                remedy: ProfileDecoder.remedy(forFault: node),
                at: node.place,
                code: .wrongType
            )
            return nil
        }
        guard members.contains(where: { $0.key == "kind" }) else {
            reportMissingKind(members, at: node.place)
            return nil
        }
        let object = CheckedObject(shape: shape, place: node.place, members: members)
        return read(Form<FaultKind.Name>.choice, object, "kind")
    }

    /// Reports a fault without “kind”, at the key that was meant to be it if there is one.
    private mutating func reportMissingKind(_ all: [JSONMember], at place: SourcePlace) {
        let kinds = FaultKind.Name.allCases.map(\.rawValue)
        let members = all.prefix(ProfileLimits.comparedKeys)
        if let member = members.first(where: { ForeignWords.isKind($0.key) }) {
            var remedy = "write “\"kind\": …” with one of the kinds \(kinds.map(\.quoted).joined(separator: ", "))"
            if case .text(let word) = member.node.value {
                remedy =
                    kinds.contains(word)
                    ? "write “\"kind\": \"\(word)\"”" : ForeignWords.remedy(forValue: word, of: "kind", among: kinds)
            }
            let what = "a fault needs the key “kind”, not \(member.key.quoted)"
            return report(what, remedy: remedy, at: member.place, code: .missingKey)
        }
        for member in members {
            guard let example = ForeignWords.example(of: member.key) else { continue }
            let what = "a fault needs the key “kind”, and has \(member.key.quoted)"
            return report(what, remedy: "write “\(example)”", at: member.place, code: .missingKey)
        }
        let list = kinds.map(\.quoted).joined(separator: ", ")
        report("a fault needs the key “kind”", remedy: "add one of the kinds \(list)", at: place, code: .missingKey)
    }

    private static func remedy(forFault node: JSONNode) -> String {
        if case .text(let word) = node.value {
            if let example = ForeignWords.example(of: word) { return "write “\(example)”" }
            if let remedy = ForeignWords.remedy(forKind: word) { return remedy }
        }
        let kinds = FaultKind.Name.allCases.map(\.rawValue.quoted).joined(separator: ", ")
        return "write “{ \"kind\": …, … }” with one of the kinds \(kinds)"
    }
}
