import Units

/// Reads profiles from their JSON. Pure: the files that a profile names are handed in by a closure.
public enum ProfileReader {
    /// Gives the source that a reference means, or why there is none.
    public typealias Resolver = (ProfileReference) -> Result<ProfileSource, ResolutionError>

    /// The profile of `source`, merged with the profiles that it extends.
    ///
    /// Throws all problems, each with its place. `resolve` is called once for each extended profile (at most
    /// `ProfileLimits.extendsDepth`), for each profile named by a proxy and those it extends, and for each trace (at most
    /// `ProfileLimits.traces`).
    public static func profile(
        from source: ProfileSource,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> Profile {
        try profile(from: source, root: nil, resolving: resolve)
    }

    /// The profile of `source`, whose root value is `root` if it has been read already.
    static func profile(
        from source: ProfileSource,
        root: JSONNode?,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> Profile {
        var decoder = ProfileDecoder(problems: ProblemList(), resolve: resolve)
        var draft = merged(from: source, root: root, &decoder)
        if var proxies = draft.proxies {
            decoder.readProfiles(of: &proxies) { reference, place, decoder in
                switch decoder.resolve(reference) {
                case .success(let source):
                    var named = merged(from: source, &decoder)
                    named.proxies = nil
                    named.narrow(to: draft.when, &decoder)
                    return named
                case .failure(let error):
                    decoder.report(error.what, remedy: error.remedy, at: place, code: .notFound)
                    decoder.hasLostFaults = true
                    return nil
                }
            }
            draft.proxies = proxies
        }
        var profile = ProfileFinisher.finish(draft, &decoder)
        decoder.addNotes(of: draft, to: &profile)
        if let problems = decoder.problems.result() { throw problems }
        return profile
    }

    /// The profile of `source`, which may not name another file; one that does has a problem.
    public static func profile(from source: ProfileSource) throws(ProfileProblems) -> Profile {
        try profile(from: source) { reference in
            switch reference {
            case .shipped, .path:
                let remedy = "copy what it needs from the other one"
                return .failure(ResolutionError(what: "a profile can't extend another one here", remedy: remedy))
            case .trace(let path):
                let what = "a profile can't have the trace \(path.quoted) here"
                return .failure(ResolutionError(what: what, remedy: "use a “bandwidth” fault"))
            case .certificate(let path):
                let what = "a profile can't have the certificate \(path.quoted) here"
                return .failure(
                    ResolutionError(what: what, remedy: "use “\"certificate\": \"expired\"” or another flaw")
                )
            }
        }
    }

    /// The draft of a file, merged with the profiles that it extends.
    private static func merged(
        from source: ProfileSource,
        root: JSONNode? = nil,
        _ decoder: inout ProfileDecoder
    ) -> ProfileDraft {
        let drafts = drafts(from: source, root: root, &decoder)
        var draft = drafts.reversed().reduce(ProfileDraft()) { $1.extending($0) }
        draft.narrow(to: draft.when, &decoder)
        return draft
    }

    /// The drafts of the files: the profile itself first, the last base last.
    private static func drafts(
        from source: ProfileSource,
        root known: JSONNode?,
        _ decoder: inout ProfileDecoder
    ) -> [ProfileDraft] {
        var drafts: [ProfileDraft] = []
        var chain: [String] = []
        var current: ProfileSource? = source
        while let source = current {
            current = nil
            chain.append(identity(of: source))
            let file = decoder.problems.addFile(source.file)
            decoder.file = source.file
            let known = chain.count == 1 ? known : nil
            guard let node = known ?? root(of: source, file: file, &decoder.problems) else { break }
            let draft = source.preset.map { decoder.preset($0, of: node) } ?? decoder.profile(node)
            guard let draft else { break }
            drafts.append(draft)
            guard let extends = draft.extends else { return drafts }
            guard drafts.count <= ProfileLimits.extendsDepth else {
                decoder.report(
                    "profiles extend each other more than \(ProfileLimits.extendsDepth) deep",
                    remedy: "extend a profile nearer to the base",
                    at: extends.place
                )
                break
            }
            switch decoder.resolve(ProfileReference(extends.reference, in: source.file)) {
            case .failure(let error):
                decoder.report(error.what, remedy: error.remedy, at: extends.place, code: .notFound)
            case .success(let base) where chain.contains(identity(of: base)):
                let what = "\(extends.reference.quoted) extends this profile, directly or through others: a circle"
                decoder.report(what, remedy: "delete “extends” in one of them", at: extends.place)
            case .success(let base): current = base
            }
        }
        // The faults of a base that can't be had.
        decoder.hasLostFaults = true
        return drafts
    }

    /// The root value of a file. A file that is neither JSON nor begins like a profile isn't quoted in problems, because
    /// “extends” may name any readable file.
    static func root(of source: ProfileSource, file: Int, _ problems: inout ProblemList) -> JSONNode? {
        let isQuotable =
            isQuotable(source.bytes, .profile, .presetFile) || source.bytes.count > ProfileLimits.fileBytes
        guard !isQuotable else { return JSONReader.read(source.bytes, file: file, problems: &problems) }
        var found = problems
        if let node = JSONReader.read(source.bytes, file: file, problems: &found), found.count == problems.count {
            return node
        }
        let start = SourcePlace(file: file, place: Place())
        if YAMLText.isMeant(by: source) {
            let remedy = "convert it, for example with “yq -o=json”; a profile begins with “{ \"name\": … }”"
            problems.add("this is YAML, and profiles are JSON", remedy: remedy, at: start, code: .syntax)
            return nil
        }
        problems.add(
            "this is no profile: it is not JSON, and doesn't begin with a key of a profile",
            remedy: "check the path; a profile begins with “{ \"name\": … }”",
            at: start,
            code: .syntax
        )
        return nil
    }

    /// A profile or preset by its file: the same for two spellings of one path.
    private static func identity(of source: ProfileSource) -> String {
        normalized(source.file) + (source.preset.map { "\0\($0)" } ?? "")
    }

    /// A path without "." and "name/.." parts. Circles through symbolic links are caught by the depth limit.
    private static func normalized(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/") where part != "." {
            if part == "..", let last = parts.last, last != ".." {
                parts.removeLast()
            } else {
                parts.append(part)
            }
        }
        return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
    }
}
