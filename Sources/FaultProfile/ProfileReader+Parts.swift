/// Reading of profiles and faults that are parts of another document.
extension ProfileReader {
    /// The value of a JSON document.
    ///
    /// Throws every syntax error, each with its place. A text with errors that doesn't begin with a key of `shape`, if one is
    /// given, isn't quoted: it may be any readable file.
    package static func document(
        _ source: ProfileSource,
        limit: Int,
        shape: ObjectShape? = nil
    ) throws(ProfileProblems) -> JSONNode {
        var problems = ProblemList()
        let file = problems.addFile(source.file)
        let node = JSONReader.read(source.bytes, file: file, limit: limit, problems: &problems)
        if !problems.isEmpty, YAMLText.isMeant(by: source) {
            let what = "this is YAML, not JSON"
            let remedy = "convert it, for example with “yq -o=json”"
            let yaml = Problem(file: source.file, line: 1, column: 1, what: what, remedy: remedy, code: .syntax)
            throw ProfileProblems(problems: [yaml])
        }
        if !problems.isEmpty, let shape, !isQuotable(source.bytes, shape) {
            let what = "this is no \(shape.title.dropFirst(2)): it is not JSON, and doesn't begin with one of its keys"
            let foreign = Problem(
                file: source.file,
                line: 1,
                column: 1,
                what: what,
                remedy: "check the path",
                code: .syntax
            )
            throw ProfileProblems(problems: [foreign])
        }
        if let problems = problems.result() { throw problems }
        guard let node else { preconditionFailure("a text that can't be read has been reported") }
        return node
    }

    /// Whether a text is empty, or begins with an object whose first key is one of `shapes`, or nearly.
    static func isQuotable(_ bytes: [UInt8], _ shapes: ObjectShape...) -> Bool {
        switch JSONReader.beginning(of: bytes) {
        case .nothing, .object(nil): true
        case .object(.some(let key)): shapes.contains { $0.hasKey(near: key) }
        case .other: false
        }
    }

    /// The profile at `node` of the document `file`, merged with the profiles that it extends; see
    /// `profile(from:resolving:)`.
    package static func profile(
        at node: JSONNode,
        in file: String,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> Profile {
        try profile(from: ProfileSource(file: file, bytes: []), root: node, resolving: resolve)
    }

    /// The faults of the list at `node` of the document `file`. They may come after faults that aren't in the list.
    ///
    /// Throws all problems, each with its place. `resolve` is called for each trace.
    package static func faults(
        at node: JSONNode,
        in file: String,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> [Fault] {
        var decoder = ProfileDecoder(problems: ProblemList(), resolve: resolve)
        _ = decoder.problems.addFile(file)
        decoder.file = file
        let drafts = decoder.faults(node) ?? []
        decoder.hasLostFaults = true
        let profile = ProfileFinisher.finish(ProfileDraft(faults: drafts), &decoder)
        if let problems = decoder.problems.result() { throw problems }
        return profile.faults
    }

    /// The fault at `node` of the document `file`, under the name `name`; see `faults(at:in:resolving:)`.
    package static func fault(
        at node: JSONNode,
        in file: String,
        named name: String,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> Fault {
        let list = JSONNode(value: .array([node]), place: node.place)
        var fault = try faults(at: list, in: file, resolving: resolve)[0]
        fault.name = name
        return fault
    }
}
