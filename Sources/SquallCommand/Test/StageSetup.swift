import ChaosStage
import CommandParsing
import EventLoop
import FaultProfile
import ProfileFiles
import ProxyEngine
import ProxyRunners
import TerminalDisplay
import Units

/// Reads what `squall test` runs.
struct StageSetup {
    let inputs: InputFiles

    /// The scenario in a file.
    func scenario(_ path: String) throws(CommandFailure) -> Scenario {
        let inputs = inputs
        let source: ProfileSource
        switch inputs.noted(ProfileLibrary.read(path, "scenario")) {
        case .success(let read): source = read
        case .failure(let error): throw .wrongInput("\(error.what) (\(error.remedy))")
        }
        do {
            return try ScenarioReader.scenario(from: source) { inputs.noted($0, ProfileLibrary.resolve($0)) }
        } catch {
            throw .problems(error.description)
        }
    }

    /// A profile of --profile with the faults of options, or that of the options alone.
    func profile(_ reference: String?, _ faults: EverydayFaults) throws(CommandFailure) -> StageProfile {
        let chosen = ChosenProfile(reference: reference, faults: faults)
        return StageProfile(reference: reference, profile: try chosen.read(noting: inputs))
    }

    /// The profiles of a scenario that --profile names by their references or names, and others that it names.
    func profiles(_ named: [String], of scenario: Scenario) throws(CommandFailure) -> [StageProfile] {
        let profiles = scenario.profiles
        guard !profiles.isEmpty else {
            throw .wrongInput("every proxy of the scenario has a profile of its own: leave --profile out")
        }
        return try named.map { reference throws(CommandFailure) in
            let own = profiles.first { $0.reference == reference } ?? profiles.first { $0.profile.name == reference }
            if let own { return own }
            return try profile(reference, EverydayFaults())
        }
    }

    /// The seeds of --seed.
    static func seeds(_ text: String) throws(CommandFailure) -> SeedList {
        do throws(UnitError) {
            return try SeedList(parsing: text)
        } catch {
            throw .wrongInput("--seed: \(error.problem) (\(error.remedy))")
        }
    }

    /// A condition of --expect; a problem is shown with a caret.
    static func expectation(_ text: String, proxies: [String]) throws(CommandFailure) -> Expectation {
        do throws(ExpectationError) {
            return try Expectation(text, proxies: proxies)
        } catch {
            throw .problems("squall: --expect isn't understood:\n\(error.description)")
        }
    }

    /// The proxies of --upstream.
    func proxies(_ texts: [String]) throws(CommandFailure) -> [Scenario.Proxy] {
        guard texts.count <= Scenario.proxyLimit else {
            throw .wrongInput(
                "--upstream is given \(texts.count) times, and at most \(Scenario.proxyLimit) proxies are made"
            )
        }
        var proxies: [Scenario.Proxy] = []
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            // A path of a Unix-domain socket may have an equals sign.
            let isNamed = parts.count == 2 && !parts[0].contains(":")
            let name = isNamed ? parts[0] : "proxy"
            if proxies.contains(where: { $0.name == name }) {
                let remedy = "give each upstream a name, such as --upstream db=\(isNamed ? parts[1] : text)"
                throw .wrongInput("two proxies are called “\(name)”: \(remedy)")
            }
            proxies.append(Scenario.Proxy(name: name, upstream: isNamed ? parts[1] : text))
        }
        return proxies
    }

    /// The sides of the proxies, for their TLS. They have been checked.
    static func sides(of scenario: Scenario) throws(CommandFailure) -> [ProxyConfiguration] {
        if scenario.isSupervised {
            return [ProxyConfiguration(supervising: "", profile: Profile(name: ""), seed: 0)]
        }
        return try scenario.proxies.map { proxy throws(CommandFailure) in
            do {
                return ProxyConfiguration(
                    name: proxy.name,
                    listen: Endpoint(host: "127.0.0.1", port: 0, usesTLS: proxy.listening == .tls),
                    upstream: try ArgumentReading.endpoint(proxy.upstream),
                    profile: Profile(name: proxy.name),
                    seed: 0
                )
            } catch {
                throw .wrongInput("\(error)")
            }
        }
    }

    /// Checks what no reader has checked: the names and the upstreams of the proxies, and the number of runs.
    func check(_ scenario: Scenario) throws(CommandFailure) {
        var variables: [String: String] = [:]
        for proxy in scenario.proxies where !scenario.isSupervised {
            do {
                _ = try ArgumentReading.proxyName(proxy.name)
                guard try !ArgumentReading.endpoint(proxy.upstream).hasFreePort else {
                    throw CommandFailure.wrongInput("the upstream of the proxy “\(proxy.name)” needs a port above 0")
                }
            } catch let failure as CommandFailure {
                throw failure
            } catch {
                throw .wrongInput("the proxy “\(proxy.name)”, upstream “\(proxy.upstream)”: \(error)")
            }
            let variable = StageEnvironment.variable(of: proxy.name)
            if let other = variables[variable] {
                throw .wrongInput(
                    "the proxies “\(other)” and “\(proxy.name)” would both be \(variable)_ADDRESS: rename one of them"
                )
            }
            variables[variable] = proxy.name
        }
        // Counted before they are made.
        let runs = max(1, scenario.profiles.count) * (scenario.seeds?.seeds.count ?? 1)
        guard runs <= Scenario.runLimit else {
            throw .wrongInput(
                "these are \(runs) runs, and at most \(Scenario.runLimit) are made: name fewer seeds or profiles"
            )
        }
        var names: Set<String> = []
        let cases = scenario.cases.map { "\($0.name.quoted), seed \($0.seed)" }
        if let name = cases.first(where: { !names.insert($0).inserted }) {
            throw .wrongInput("two runs would both be \(name): give one of the profiles another name")
        }
    }
}
