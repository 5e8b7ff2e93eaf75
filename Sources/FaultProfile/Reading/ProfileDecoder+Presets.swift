import Units

/// Files of presets.
extension ProfileDecoder {
    /// The draft of the preset `name`; `nil` if the file has none of that name, which is reported.
    mutating func preset(_ name: String, of node: JSONNode) -> ProfileDraft? {
        guard let file = object(node, .presetFile) else { return nil }
        for key in ["$schema", "title", "url"] { _ = text(file, key) }
        checkDate(file)
        let source = text(file, "source") ?? ""
        let notes = notes(file) ?? []
        guard let member = presets(file)?.first(where: { $0.key == name }) else {
            if file["presets"] != nil {
                let known = file["presets"]?.members.map(\.key) ?? []
                let nearest = Spelling.nearest(to: name, among: Array(known.prefix(ProfileLimits.presets)))
                let names = (nearest.isEmpty ? Array(known.prefix(8)) : nearest).map(\.quoted)
                report(
                    "the file has no preset \(name.quoted)",
                    remedy: names.isEmpty ? "add it" : "name one of them: \(names.joined(separator: ", "))",
                    at: file.place(of: "presets")
                )
            }
            return nil
        }
        guard let object = object(member.node, .preset) else { return nil }
        var draft = content(of: object)
        draft.name = name
        draft.source = ProfileDecoder.joined(source, draft.source ?? "")
        draft.sourcePlace = object.place(of: "source")
        draft.notes = self.notes(object) ?? notes
        return draft
    }

    /// The presets of a file, whose names are checked.
    private mutating func presets(_ file: CheckedObject) -> [JSONMember]? {
        guard let node = file["presets"] else { return nil }
        guard case .object(let members) = node.value else {
            reportType(
                of: node,
                expected: "an object",
                key: "presets",
                remedy: "write “{ \"my-network\": { \"summary\": … } }”"
            )
            return nil
        }
        if members.isEmpty { report("there is no preset in the file", remedy: "add one", at: node.place) }
        if members.count > ProfileLimits.presets {
            report(
                "there are more than \(ProfileLimits.presets) presets",
                remedy: "move some to another file",
                at: members[ProfileLimits.presets].place
            )
        }
        for member in members.prefix(ProfileLimits.presets) {
            let limit = ProfileLimits.nameLength
            guard isName(member.key, key: "name", limit: limit, at: member.place) else { continue }
            if member.key.unicodeScalars.count > limit {
                report("the name of a preset has more than \(limit) characters", remedy: "shorten it", at: member.place)
            } else if case .path = ProfileReference(member.key, in: "") {
                report(
                    "\(member.key.quoted) looks like a path, so no preset of that name is found",
                    remedy: "write a name without a slash, and without “.json” at its end",
                    at: member.place
                )
            }
        }
        return members
    }

    private mutating func notes(_ object: CheckedObject) -> [(kind: FaultKind.Name, text: String)]? {
        guard let node = object["notes"] else { return nil }
        guard case .object(let members) = node.value else {
            reportType(of: node, expected: "an object", key: "notes", remedy: "write “{ \"latency\": \"…\" }”")
            return nil
        }
        let words = FaultKind.Name.allCases.map(\.rawValue)
        return members.compactMap { member in
            let text = text(member.node, key: member.key, limit: ProfileLimits.textLength)
            guard let kind = FaultKind.Name(rawValue: member.key) else {
                report(
                    "\(member.key.quoted) is not a kind of fault",
                    remedy: ForeignWords.remedy(forValue: member.key, of: "kind", among: words),
                    at: member.place,
                    code: .unknownKey
                )
                return nil
            }
            return text.map { (kind, $0) }
        }
    }

    private mutating func checkDate(_ file: CheckedObject) {
        guard let node = file["date"], let date = text(file, "date") else { return }
        // Digits become zeros, so that what remains is the form.
        let form = String(date.map { $0.isASCII && $0.isNumber ? "0" : $0 })
        if ["0000", "0000-00", "0000-00-00"].contains(form) { return }
        report("\(date.quoted) is not a date", remedy: "write one such as “2024-06” or “2024-06-11”", at: node.place)
    }

    /// The source of a preset: that of its file and its own, as one sentence or several.
    private static func joined(_ file: String, _ own: String) -> String {
        let text = file.isEmpty || own.isEmpty ? file + own : file + (file.hasSuffix(".") ? " " : ", ") + own
        return text.isEmpty || text.hasSuffix(".") || text.hasSuffix(",") ? text : text + "."
    }

    mutating func addNotes(of draft: ProfileDraft, to profile: inout Profile) {
        let kinds = Set(profile.allFaults.map(\.kind.name))
        let notes = draft.notes.filter { kinds.contains($0.kind) }.map(\.text)
        profile.source = ([profile.source] + notes).filter { !$0.isEmpty }.joined(separator: " ")
        let length = profile.source.unicodeScalars.count
        guard length > ProfileLimits.textLength, let place = draft.sourcePlace else { return }
        report(
            "the source of the preset has \(length) characters with that of its file, more than \(ProfileLimits.textLength)",
            remedy: "shorten it",
            at: place
        )
    }
}
