import Units

/// An object whose keys have been checked against its shape.
package struct CheckedObject {
    let shape: ObjectShape
    let place: SourcePlace
    private let members: [String: JSONMember]

    init(shape: ObjectShape, place: SourcePlace, members: [JSONMember]) {
        self.shape = shape
        self.place = place
        self.members = Dictionary(members.map { ($0.key, $0) }) { first, _ in first }
    }

    /// The value of a key; `nil` if the object doesn't have it.
    package subscript(key: String) -> JSONNode? {
        precondition(shape.keys.contains { $0.name == key }, "\(shape.title) has no key “\(key)” in its table of keys.")
        return members[key]?.node
    }

    /// The place of a key, or of the object without it.
    func place(of key: String) -> SourcePlace { members[key]?.place ?? place }
}

/// Turns JSON values into the data of a profile, and reports every value that can't be turned.
///
/// A function that gives `nil` has reported why, unless the value wasn't there.
package struct ProfileDecoder {
    package var problems: ProblemList
    /// Gives the files that a profile names.
    package let resolve: ProfileReader.Resolver
    package var file = ""
    /// Whether faults couldn't be read, so that an unknown name may be one of theirs.
    var hasLostFaults = false
    /// Whether there are proxies that couldn't be read.
    var hasLostProxies = false
    /// The traces that have been read by their paths; `nil` for one that can't be.
    var traces: [String: [UInt32]?] = [:]

    init(problems: ProblemList, resolve: @escaping ProfileReader.Resolver) {
        (self.problems, self.resolve) = (problems, resolve)
    }

    /// A decoder of the document `file`.
    package init(file: String, resolve: @escaping ProfileReader.Resolver) {
        self.init(problems: ProblemList(), resolve: resolve)
        self.file = file
        _ = problems.addFile(file)
    }

    package mutating func report(
        _ what: @autoclosure () -> String,
        remedy: @autoclosure () -> String,
        at place: SourcePlace,
        code: Problem.Code = .invalidValue
    ) {
        problems.add(what(), remedy: remedy(), at: place, code: code)
    }

    mutating func report(_ error: UnitError, at place: SourcePlace) {
        problems.add(error.problem, remedy: error.remedy, at: place)
    }

    /// Reports a value of a type other than `expected`, such as "a text".
    package mutating func reportType(of node: JSONNode, expected: String, key: String, remedy: String) {
        if case .unreadable = node.value { return }
        let what = "\(key.quoted) is \(expected), not \(node.value.form)"
        report(what, remedy: remedy, at: node.place, code: .wrongType)
    }

    /// The object of a shape: every unknown key and every missing one is reported.
    package mutating func object(_ node: JSONNode, _ shape: ObjectShape) -> CheckedObject? {
        guard case .object(let members) = node.value else {
            if case .unreadable = node.value { return nil }
            let keys = shape.keys.filter(\.isRequired).map { "\"\($0.name)\": …" }.joined(separator: ", ")
            report(
                "\(shape.title) is an object, not \(node.value.form)",
                remedy: keys.isEmpty ? "write it in braces" : "write “{ \(keys) }”",
                at: node.place,
                code: .wrongType
            )
            return nil
        }
        let known = shape.keys.map(\.name)
        for member in members where !known.contains(member.key) {
            report(
                "\(shape.title) has no key \(member.key.quoted)",
                remedy: ForeignWords.remedy(for: member, in: shape),
                at: member.place,
                code: .unknownKey
            )
        }
        for key in shape.keys where key.isRequired && !members.contains(where: { $0.key == key.name }) {
            report(
                "\(shape.title) needs the key \(key.name.quoted)",
                remedy: "add “\"\(key.name)\": \(key.form.example)”",
                at: node.place,
                code: .missingKey
            )
        }
        return CheckedObject(shape: shape, place: node.place, members: members)
    }

    /// The elements of a list; those beyond `limit` are reported and omitted.
    package mutating func list(_ node: JSONNode, key: String, limit: Int, of what: String) -> [JSONNode]? {
        guard case .array(let nodes) = node.value else {
            if case .unreadable = node.value { return nil }
            let what = "\(key.quoted) must be a list, not \(node.value.form)"
            report(what, remedy: "write “\"\(key)\": [ … ]”", at: node.place, code: .wrongType)
            return nil
        }
        if nodes.count > limit {
            report("there are more than \(limit) \(what)", remedy: "delete some", at: nodes[limit].place)
        }
        return Array(nodes.prefix(limit))
    }

    /// One of the cases of an enumeration by its word.
    @_semantics("optimize.sil.specialize.generic.never")
    mutating func choice<Choice>(_ node: JSONNode, _ key: String) -> Choice?
    where Choice: RawRepresentable<String> & CaseIterable {
        let words = Choice.allCases.map(\.rawValue)
        let list = words.map(\.quoted).joined(separator: ", ")
        guard case .text(let word) = node.value else {
            reportType(of: node, expected: "one of \(list)", key: key, remedy: "write one of them")
            return nil
        }
        if let choice = Choice(rawValue: word) { return choice }
        report(
            "\(word.quoted) is not a value of \(key.quoted)",
            remedy: ForeignWords.remedy(forValue: word, of: key, among: words),
            at: node.place,
            code: .unknownValue
        )
        return nil
    }
}
