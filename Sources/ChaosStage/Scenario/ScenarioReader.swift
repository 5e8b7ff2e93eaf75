import FaultProfile
import Units

/// Reads a scenario of its JSON file. Pure: the profiles that it names are handed in by a closure.
package enum ScenarioReader {
    /// Gives a profile by its reference, or throws why there is none.
    package typealias Resolver = (String) throws(ProfileProblems) -> Profile

    /// The keys of a scenario and of a proxy in it.
    static let keys = [
        "$schema", "name", "proxies", "profiles", "seeds", "command", "expect", "time-limit", "jobs", "allow-vacuous",
        "require-phases",
    ]
    static let proxyKeys = ["name", "listen", "upstream", "profile", "url"]

    /// The scenario of `source`.
    ///
    /// - Parameter file: resolves the files that a profile written in the scenario names.
    /// - Throws: all problems, each with its place.
    package static func scenario(
        from source: ProfileSource,
        resolving resolve: @escaping Resolver,
        files: @escaping ProfileReader.Resolver
    ) throws(ProfileProblems) -> Scenario {
        let root = try ProfileReader.document(source, limit: ProfileLimits.fileBytes)
        var decoder = ScenarioDecoder(file: source.file, resolve: resolve, files: files)
        let scenario = decoder.scenario(root)
        guard decoder.problems.isEmpty, let scenario else {
            let sorted = decoder.problems.enumerated().sorted { left, right in
                (left.element.line, left.element.column, left.offset) < (
                    right.element.line, right.element.column, right.offset
                )
            }.map(\.element)
            let listed = Array(sorted.prefix(ProfileProblems.limit))
            throw ProfileProblems(problems: listed, omitted: decoder.omitted + sorted.count - listed.count)
        }
        return scenario
    }
}

/// Turns the JSON of a scenario into its data. A function that gives `nil` has reported why.
struct ScenarioDecoder {
    let file: String
    let resolve: ScenarioReader.Resolver
    let files: ProfileReader.Resolver
    var problems: [Problem] = []
    /// Problems beyond `problemLimit`.
    private(set) var omitted = 0

    /// The unknown keys that are looked at for what they were meant to be, which takes long: 400.
    private static let problemLimit = 4 * ProfileProblems.limit

    mutating func scenario(_ root: JSONNode) -> Scenario? {
        let given = root.members.map(\.key)
        if !given.contains("proxies"), !given.contains("command"), given.contains("faults") || given.contains("phases")
        {
            let remedy = "run “squall test --profile FILE --upstream HOST:PORT -- COMMAND”"
            report("this is a profile, not a scenario", remedy, at: root)
            return nil
        }
        guard let members = members(of: root, "a scenario", ScenarioReader.keys) else { return nil }
        let name = text(members["name"], "name") ?? "chaos stage"
        let proxies = proxies(members["proxies"], root)
        let profiles = profiles(members["profiles"])
        let seeds = seeds(members["seeds"])
        let command = command(members["command"], root)
        let expectations = expectations(members["expect"], proxies: proxies?.map(\.name) ?? [])
        let limit = duration(members["time-limit"]) ?? Scenario.defaultTimeLimit
        let jobs = count(members["jobs"], "jobs", 1...Scenario.jobLimit) ?? 1
        let allowsVacuous = flag(members["allow-vacuous"], "allow-vacuous") ?? false
        let requiresPhases = flag(members["require-phases"], "require-phases") ?? false
        guard let proxies, let command, let seeds, let profiles else { return nil }
        if profiles.isEmpty, proxies.contains(where: { $0.profile == nil }) {
            report("a proxy has no profile", "add “profiles” to the scenario or “profile” to each proxy", at: root)
        } else if !profiles.isEmpty, !proxies.contains(where: { $0.profile == nil }), let node = members["profiles"] {
            report(
                "every proxy has a profile of its own, so no one is left for these",
                "leave “profiles” out",
                at: node
            )
        }
        if max(1, profiles.count) * seeds.seeds.count > Scenario.runLimit {
            report("the scenario has more than \(Scenario.runLimit) runs", "name fewer seeds or profiles", at: root)
        }
        return Scenario(
            name: name,
            proxies: proxies,
            profiles: profiles,
            seeds: seeds,
            command: command,
            expectations: expectations,
            timeLimit: limit,
            jobs: jobs,
            allowsVacuous: allowsVacuous,
            requiresPhases: requiresPhases
        )
    }

    private mutating func proxies(_ node: JSONNode?, _ root: JSONNode) -> [Scenario.Proxy]? {
        guard let node else {
            report("a scenario needs “proxies”", "add “\"proxies\": [{ \"name\": …, \"upstream\": … }]”", at: root)
            return nil
        }
        guard let elements = list(node, "proxies", 1...Scenario.proxyLimit) else { return nil }
        let proxies = elements.compactMap { proxy($0) }
        for (index, proxy) in proxies.enumerated() where proxies[..<index].contains(where: { $0.name == proxy.name }) {
            report("two proxies are called \(proxy.name.quoted)", "give each a name of its own", at: elements[index])
        }
        return proxies.count == elements.count ? proxies : nil
    }

    private mutating func proxy(_ node: JSONNode) -> Scenario.Proxy? {
        guard let members = members(of: node, "a proxy of a scenario", ScenarioReader.proxyKeys) else { return nil }
        let name = text(members["name"], "name")
        let upstream = text(members["upstream"], "upstream")
        if members["name"] == nil {
            report("a proxy needs “name”", "add it: the command finds the proxy by it", at: node)
        }
        if members["upstream"] == nil {
            report("a proxy needs “upstream”", "add where it forwards to, “host:port”", at: node)
        }
        var isUnix = false
        if let listen = members["listen"], let text = text(listen, "listen") {
            switch text {
            case "tcp": isUnix = false
            case "unix": isUnix = true
            default:
                let remedy =
                    "write “tcp” for a free port or “unix” for a socket in the run's folder: every run has its own"
                report("\(text.quoted) is no place to listen at in a scenario", remedy, at: listen)
            }
        }
        var profile: StageProfile?
        if let node = members["profile"] {
            profile = self.profile(node)
            if profile == nil { return nil }
        }
        let url = text(members["url"], "url")
        guard let name, let upstream else { return nil }
        return Scenario.Proxy(name: name, isUnix: isUnix, upstream: upstream, profile: profile, url: url)
    }

    private mutating func profiles(_ node: JSONNode?) -> [StageProfile]? {
        guard let node else { return [] }
        guard let elements = list(node, "profiles", 1...Scenario.profileLimit) else { return nil }
        let profiles = elements.compactMap { profile($0) }
        return profiles.count == elements.count ? profiles : nil
    }

    /// A profile by its name or path, or in place.
    private mutating func profile(_ node: JSONNode) -> StageProfile? {
        do throws(ProfileProblems) {
            switch node.value {
            case .text(let reference):
                return StageProfile(reference: reference, profile: try resolve(reference))
            case .object:
                let profile = try ProfileReader.profile(at: node, in: file, resolving: files)
                return StageProfile(reference: profile.name, profile: profile)
            default:
                let remedy = "write its name, its path, or the profile itself in braces"
                report("a profile is a text or an object, not \(node.value.form)", remedy, at: node)
                return nil
            }
        } catch {
            // A profile that can't be found has no place of its own.
            problems += error.problems.map { problem in
                problem.line > 0
                    ? problem
                    : Problem(
                        file: file,
                        line: node.line,
                        column: node.column,
                        what: problem.what,
                        remedy: problem.remedy,
                        code: problem.code
                    )
            }
            return nil
        }
    }

    private mutating func seeds(_ node: JSONNode?) -> SeedList? {
        let text: String
        switch node?.value {
        case nil: text = Scenario.defaultSeeds
        case .text(let given), .number(let given): text = given
        default:
            if let node {
                report("“seeds” is a text or a number, not \(node.value.form)", "write “\"1..5\"”", at: node)
            }
            return nil
        }
        do throws(UnitError) {
            return try SeedList(parsing: text)
        } catch {
            if let node { report(error.problem, error.remedy, at: node) }
            return nil
        }
    }

    private mutating func command(_ node: JSONNode?, _ root: JSONNode) -> [String]? {
        guard let node else {
            report("a scenario needs “command”", "add “\"command\": [\"program\", \"argument\"]”", at: root)
            return nil
        }
        guard let elements = list(node, "command", 1...Scenario.wordLimit) else { return nil }
        let words = elements.compactMap { text($0, "command") }
        guard words.count == elements.count else { return nil }
        if words[0].isEmpty { report("the program has no name", "write it as the first text", at: elements[0]) }
        return words
    }

    private mutating func expectations(_ node: JSONNode?, proxies: [String]) -> [Expectation] {
        guard let node, let elements = list(node, "expect", 0...Scenario.expectationLimit) else { return [] }
        return elements.compactMap { element in
            guard let text = text(element, "expect") else { return nil }
            do throws(ExpectationError) {
                return try Expectation(text, proxies: proxies)
            } catch {
                let what = "in \(text.quoted), at character \(error.position + 1): \(error.what)"
                report(what, error.remedy, at: element)
                return nil
            }
        }
    }

    private mutating func duration(_ node: JSONNode?) -> Duration? {
        guard let node, let text = text(node, "time-limit") else { return nil }
        do throws(UnitError) {
            let duration = try Duration(parsing: text)
            if duration == .zero {
                report("“time-limit” is zero", "write how long a run may take, such as “60 s”", at: node)
            }
            return duration
        } catch {
            report(error.problem, error.remedy, at: node)
            return nil
        }
    }

    private mutating func count(_ node: JSONNode?, _ key: String, _ range: ClosedRange<Int>) -> Int? {
        guard let node else { return nil }
        guard case .number(let digits) = node.value, let count = Int(digits), range.contains(count) else {
            let what = "“\(key)” is not a whole number from \(range.lowerBound) to \(range.upperBound)"
            report(what, "write one, such as \(range.lowerBound)", at: node)
            return nil
        }
        return count
    }

    private mutating func flag(_ node: JSONNode?, _ key: String) -> Bool? {
        guard let node else { return nil }
        guard case .boolean(let flag) = node.value else {
            report("“\(key)” is true or false, not \(node.value.form)", "write “true” or “false”", at: node)
            return nil
        }
        return flag
    }

    private mutating func text(_ node: JSONNode?, _ key: String) -> String? {
        guard let node else { return nil }
        guard case .text(let text) = node.value else {
            report("“\(key)” is a text, not \(node.value.form)", "write it in double quotes", at: node)
            return nil
        }
        return text
    }

    private mutating func list(_ node: JSONNode, _ key: String, _ range: ClosedRange<Int>) -> [JSONNode]? {
        guard case .array(let elements) = node.value else {
            report("“\(key)” must be a list, not \(node.value.form)", "write it in square brackets", at: node)
            return nil
        }
        guard range.contains(elements.count) else {
            let what = "“\(key)” has \(elements.count) elements"
            report(what, "write from \(range.lowerBound) to \(range.upperBound)", at: node)
            return nil
        }
        return elements
    }

    /// The members of an object whose keys are known.
    private mutating func members(of node: JSONNode, _ title: String, _ known: [String]) -> [String: JSONNode]? {
        guard case .object(let members) = node.value else {
            report("\(title) is an object, not \(node.value.form)", "write it in braces", at: node)
            return nil
        }
        for member in members where !known.contains(member.key) {
            guard problems.count < ScenarioDecoder.problemLimit else {
                omitted += 1
                continue
            }
            let remedy = ScenarioWords.remedy(for: member.key, of: known)
            let what = "\(title) has no key \(member.key.quoted)"
            report(what, remedy, line: member.line, column: member.column, code: .unknownKey)
        }
        return Dictionary(members.map { ($0.key, $0.node) }) { first, _ in first }
    }

    private mutating func report(_ what: String, _ remedy: String, at node: JSONNode) {
        report(what, remedy, line: node.line, column: node.column)
    }

    private mutating func report(
        _ what: String,
        _ remedy: String,
        line: Int,
        column: Int,
        code: Problem.Code = .invalidValue
    ) {
        problems.append(Problem(file: file, line: line, column: column, what: what, remedy: remedy, code: code))
    }
}
