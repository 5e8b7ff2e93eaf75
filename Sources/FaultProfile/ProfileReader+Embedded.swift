extension ProfileReader {
    /// The profile under `key` in the JSON object `source`, as in a journal's first line. It may not extend another; other
    /// keys are ignored. `resolve` is called for its traces, with unchanged paths.
    ///
    /// Throws everything that is wrong with it, each with its place in the source.
    public static func profile(
        embeddedIn source: ProfileSource,
        under key: String,
        resolving resolve: @escaping Resolver
    ) throws(ProfileProblems) -> Profile {
        var decoder = ProfileDecoder(problems: ProblemList(), resolve: resolve)
        let file = decoder.problems.addFile(source.file)
        var profile: Profile?
        let limit = ProfileLimits.embeddingBytes
        if let root = JSONReader.read(source.bytes, file: file, limit: limit, problems: &decoder.problems) {
            if case .object(let members) = root.value, let member = members.first(where: { $0.key == key }) {
                var draft = decoder.profile(member.node)
                if let extends = draft.extends {
                    decoder.report(
                        "a profile can't extend another one here",
                        remedy: "copy what it needs from the other one",
                        at: extends.place
                    )
                    decoder.hasLostFaults = true
                }
                if var proxies = draft.proxies {
                    decoder.readProfiles(of: &proxies) { _, place, decoder in
                        let remedy = "write it in place, with its faults and phases"
                        decoder.report("a proxy can't name another profile here", remedy: remedy, at: place)
                        decoder.hasLostFaults = true
                        return nil
                    }
                    draft.proxies = proxies
                }
                profile = ProfileFinisher.finish(draft, &decoder)
            } else {
                decoder.report("there is no \(key.quoted) here", remedy: "add the key with a profile", at: root.place)
            }
        }
        if let problems = decoder.problems.result() { throw problems }
        guard let profile else { preconditionFailure("a text that can't be read has been reported") }
        return profile
    }
}
