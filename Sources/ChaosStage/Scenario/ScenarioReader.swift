import FaultProfile
import Units

/// Reads a scenario of its JSON file. Pure: the files that it names are handed in by a closure.
package enum ScenarioReader {
    /// The keys of a scenario and of a proxy in it.
    static let shape = ObjectShape(
        title: "a scenario",
        required: ["command": "[\"program\", \"argument\"]"],
        optional: [
            "$schema", "name", "proxies", "exec", "profiles", "seeds", "expect", "time-limit", "jobs", "allow-vacuous",
            "require-phases",
        ],
        words: ScenarioWords.ofScenarios
    )
    static let proxyShape = ObjectShape(
        title: "a proxy of a scenario",
        required: ["name": "\"db\"", "upstream": "\"127.0.0.1:5432\""],
        optional: ["listen", "profile", "url"],
        words: ScenarioWords.ofProxies
    )

    /// The scenario of `source`.
    ///
    /// - Parameter files: gives the files that the scenario and its profiles name.
    /// - Throws: all problems, each with its place.
    package static func scenario(
        from source: ProfileSource,
        resolving files: @escaping ProfileReader.Resolver
    ) throws(ProfileProblems) -> Scenario {
        let root = try ProfileReader.document(source, limit: ProfileLimits.fileBytes, shape: shape)
        var decoder = ProfileDecoder(file: source.file, resolve: files)
        let scenario = decoder.scenario(root)
        if let problems = decoder.problems.result() { throw problems }
        guard let scenario else { preconditionFailure("a scenario that can't be read has been reported") }
        return scenario
    }
}

extension ProfileDecoder {
    fileprivate mutating func scenario(_ root: JSONNode) -> Scenario? {
        let given = root.members.map(\.key)
        if !given.contains("proxies"), !given.contains("command"), given.contains("faults") || given.contains("phases")
        {
            let remedy = "run “squall test --profile FILE --upstream HOST:PORT -- COMMAND”"
            report("this is a profile, not a scenario", remedy: remedy, at: root.place)
            return nil
        }
        guard let object = object(root, ScenarioReader.shape) else { return nil }
        let name = anyText(object, "name") ?? "chaos stage"
        let isSupervised = read(.flag, object, "exec") ?? false
        if isSupervised == (object["proxies"] != nil) {
            let what = isSupervised ? "“exec” and “proxies” don't go together" : "the scenario has no proxy"
            let remedy = "give “proxies”: [{ \"name\": …, \"upstream\": … }], or “exec”: true for every connection"
            report(what, remedy: remedy, at: root.place)
            return nil
        }
        let proxies =
            isSupervised ? [Scenario.supervising] : all(object, "proxies", 1...Scenario.proxyLimit) { $0.proxy($1) }
        let profiles = all(object, "profiles", 1...Scenario.profileLimit) { $0.stageProfile($1) }
        let seeds = seeds(object)
        let command = all(object, "command", 1...Scenario.wordLimit) { $0.anyText($1, "command") }
        let names = proxies?.map(\.name) ?? []
        let expectations = all(object, "expect", 0...Scenario.expectationLimit) { $0.expectation($1, proxies: names) }
        let timeLimit = read(.positiveDuration, object, "time-limit")
        let jobs = object["jobs"].flatMap { wholeNumber($0, key: "jobs", in: 1...UInt64(Scenario.jobLimit)) }
        let allowsVacuous = read(.flag, object, "allow-vacuous")
        let requiresPhases = read(.flag, object, "require-phases")
        guard let proxies, let command, profiles != nil || object["profiles"] == nil else { return nil }
        let isShared = proxies.contains { $0.profile == nil }
        if isShared, profiles == nil {
            let remedy = "add “profiles” to the scenario or “profile” to each proxy"
            report("a proxy has no profile", remedy: remedy, at: root.place)
        } else if !isShared, let node = object["profiles"] {
            let what = "every proxy has a profile of its own, so no one is left for these"
            report(what, remedy: "leave “profiles” out", at: node.place)
        }
        if let names = object["proxies"]?.elements {
            for (index, proxy) in proxies.enumerated()
            where proxies[..<index].contains(where: { $0.name == proxy.name }) {
                let what = "two proxies are called \(proxy.name.quoted)"
                report(what, remedy: "give each a name of its own", at: names[index].place)
            }
        }
        if command[0].isEmpty, let node = object["command"] {
            report("the program has no name", remedy: "write it as the first text", at: node.place)
        }
        return Scenario(
            name: name,
            proxies: proxies,
            isSupervised: isSupervised,
            profiles: profiles ?? [],
            seeds: seeds,
            command: command,
            expectations: expectations ?? [],
            timeLimit: timeLimit ?? Scenario.defaultTimeLimit,
            jobs: jobs.map { Int($0) } ?? 1,
            allowsVacuous: allowsVacuous ?? false,
            requiresPhases: requiresPhases ?? false
        )
    }

    private mutating func proxy(_ node: JSONNode) -> Scenario.Proxy? {
        guard let object = object(node, ScenarioReader.proxyShape) else { return nil }
        let (name, upstream, url) = (anyText(object, "name"), anyText(object, "upstream"), anyText(object, "url"))
        let listen = anyText(object, "listen")
        let listening = listen.flatMap(Scenario.Proxy.Listening.init(rawValue:))
        if let listen, listening == nil, let node = object["listen"] {
            let remedy = "write “tcp” for a free port, “tls” for TLS on one, or “unix” for a socket in the run's folder"
            report("\(listen.quoted) is no place to listen at in a scenario", remedy: remedy, at: node.place)
        }
        let profile = object["profile"].flatMap { stageProfile($0) }
        guard let name, let upstream, profile != nil || object["profile"] == nil else { return nil }
        return Scenario.Proxy(name: name, listening: listening, upstream: upstream, profile: profile, url: url)
    }

    /// A profile by its name or path, or in place.
    private mutating func stageProfile(_ node: JSONNode) -> StageProfile? {
        do throws(ProfileProblems) {
            switch node.value {
            case .object:
                let profile = try ProfileReader.profile(at: node, in: file, resolving: resolve)
                return StageProfile(reference: profile.name, profile: profile)
            case .text(let reference):
                switch resolve(ProfileReference(reference, in: file)) {
                case .success(let source):
                    let profile = try ProfileReader.profile(from: source, resolving: resolve)
                    return StageProfile(reference: reference, profile: profile)
                case .failure(let error):
                    report(error.what, remedy: error.remedy, at: node.place, code: .notFound)
                }
            default:
                let remedy = "write its name, its path, or the profile itself in braces"
                report("a profile is a text or an object, not \(node.value.form)", remedy: remedy, at: node.place)
            }
        } catch {
            problems.add(error)
        }
        return nil
    }

    private mutating func seeds(_ object: CheckedObject) -> SeedList? {
        guard let node = object["seeds"] else { return nil }
        switch node.value {
        case .text(let text), .number(let text): return parsed(text, at: node.place, SeedList.init(parsing:))
        default:
            reportType(of: node, expected: "a text or a number", key: "seeds", remedy: "write “\"1..5\"”")
            return nil
        }
    }

    private mutating func expectation(_ node: JSONNode, proxies: [String]) -> Expectation? {
        guard let text = anyText(node, "expect") else { return nil }
        do throws(ExpectationError) {
            return try Expectation(text, proxies: proxies)
        } catch {
            let what = "in \(text.quoted), at character \(error.position + 1): \(error.what)"
            report(what, remedy: error.remedy, at: node.place)
            return nil
        }
    }

    /// A text as long as the file allows, which may become an argument, a variable of the environment or a path.
    private mutating func anyText(_ node: JSONNode, _ key: String) -> String? {
        guard let text = text(node, key: key, limit: ProfileLimits.fileBytes) else { return nil }
        guard text.unicodeScalars.contains("\0") else { return text }
        let what = "\(key.quoted) can't have the character U+0000, at which arguments and paths end"
        report(what, remedy: "delete it", at: node.place)
        return nil
    }

    private mutating func anyText(_ object: CheckedObject, _ key: String) -> String? {
        object[key].flatMap { anyText($0, key) }
    }

    /// The elements of a list; `nil` if there is none, or if one of them can't be read.
    @_semantics("optimize.sil.specialize.generic.never")
    private mutating func all<Element>(
        _ object: CheckedObject,
        _ key: String,
        _ counts: ClosedRange<Int>,
        _ read: (inout ProfileDecoder, JSONNode) -> Element?
    ) -> [Element]? {
        guard let node = object[key], let nodes = list(node, key: key, limit: counts.upperBound, of: "elements")
        else { return nil }
        if nodes.count < counts.lowerBound {
            let remedy = "write from \(counts.lowerBound) to \(counts.upperBound)"
            report("\(key.quoted) has no element", remedy: remedy, at: node.place)
            return nil
        }
        let elements = nodes.compactMap { read(&self, $0) }
        return elements.count == nodes.count ? elements : nil
    }
}
