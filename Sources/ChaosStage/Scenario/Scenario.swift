import FaultProfile
import Units

/// A chaos stage as data: what runs, behind which proxies and profiles, and what is expected of it.
package struct Scenario: Sendable {
    /// The most proxies: 64.
    package static let proxyLimit = 64
    /// The most profiles: 100.
    package static let profileLimit = 100
    /// The most runs, profiles times seeds: 10,000.
    package static let runLimit = 10_000
    /// The most runs at the same time: 32.
    package static let jobLimit = 32
    /// The most expectations: 100.
    package static let expectationLimit = 100
    /// The most words of a command: 1,000.
    package static let wordLimit = 1_000

    /// A proxy of the stage, made anew for each run.
    package struct Proxy: Sendable {
        /// The name: in the command's environment and arguments, in expectations, and in every draw.
        package var name: String
        /// Where a proxy listens.
        package enum Listening: String, CaseIterable, Sendable {
            /// A free port of 127.0.0.1, without TLS or with it.
            case tcp, tls
            /// A Unix-domain socket in the run's folder.
            case unix
        }

        /// Where it listens.
        package var listening: Listening
        /// Where it forwards to: `host:port`, the same with TLS, or `unix:path`.
        package var upstream: String
        /// Its profile in every run; `nil` for that of the run.
        package var profile: StageProfile?
        /// The URL that the command gets, with `{address}`, `{host}` and `{port}` in it.
        package var url: String

        /// Makes a proxy; without `listening` the command's side has TLS if that of the upstream has it.
        package init(
            name: String,
            listening: Listening? = nil,
            upstream: String,
            profile: StageProfile? = nil,
            url: String? = nil
        ) {
            self.name = name
            let address = (try? SecureAddress.translated(upstream)) ?? upstream
            self.listening = listening ?? (SecureAddress.rest(of: address) == nil ? .tcp : .tls)
            self.upstream = upstream
            self.profile = profile
            self.url = url ?? self.listening.url
        }
    }

    package var name: String
    /// The proxies, at least one, with different names.
    package var proxies: [Proxy]
    /// Whether every connection of the command goes through the only proxy, `Scenario.supervising`, unknown to the command.
    package var isSupervised: Bool
    /// The profiles that the command runs behind, one after the other; empty if every proxy has its own.
    package var profiles: [StageProfile]
    /// The seeds with which it runs behind each; `nil` for that of the only profile, see `cases`.
    package var seeds: SeedList?
    package var command: [String]
    /// What is expected of each run. A run whose command doesn't exit with 0 fails, unless one of them is about `exit`.
    package var expectations: [Expectation]
    /// How long a run may take.
    package var timeLimit: Duration
    /// Runs at the same time.
    package var jobs: Int
    /// Whether a stage may pass in which no connection came or no fault acted.
    package var allowsVacuous: Bool
    /// Whether a run fails that doesn't meet every phase, see `Coverage`.
    package var requiresPhases: Bool

    /// The proxy of a command whose connections are supervised, which names its targets itself.
    package static let supervising = Proxy(name: "exec", upstream: "")

    /// The time limit of a run by default: 5 min.
    package static let defaultTimeLimit = Duration.seconds(300)

    package init(
        name: String,
        proxies: [Proxy],
        isSupervised: Bool = false,
        profiles: [StageProfile],
        seeds: SeedList? = nil,
        command: [String],
        expectations: [Expectation],
        timeLimit: Duration = Scenario.defaultTimeLimit,
        jobs: Int = 1,
        allowsVacuous: Bool = false,
        requiresPhases: Bool = false
    ) {
        self.name = name
        self.proxies = proxies
        self.isSupervised = isSupervised
        self.profiles = profiles
        self.seeds = seeds
        self.command = command
        self.expectations = expectations
        self.timeLimit = timeLimit
        self.jobs = jobs
        self.allowsVacuous = allowsVacuous
        self.requiresPhases = requiresPhases
    }
}

extension Scenario.Proxy.Listening {
    /// The URL of a proxy, see `Scenario.Proxy.url`.
    fileprivate var url: String {
        switch self {
        case .tcp: "http://{address}"
        case .tls: "https://{address}"
        case .unix: "unix:{address}"
        }
    }
}

/// A profile of a chaos stage, and how it was named.
package struct StageProfile: Sendable {
    /// What finds it again: a shipped name or a path; for one that is written in a scenario its name, and `nil` for one of
    /// options alone.
    package var reference: String?
    package var profile: Profile

    package init(reference: String?, profile: Profile) {
        self.reference = reference
        self.profile = profile
    }
}

/// One run of a stage, before it runs.
package struct StageCase: Sendable {
    /// The profile of each proxy, in the order of the proxies.
    package var profiles: [Profile]
    /// The name for reports: that of the profile.
    package var name: String
    /// What `--profile` has to say to repeat it; `nil` if every proxy has its own profile, or options are the profile.
    package var reference: String?
    package var seed: UInt64

    package init(profiles: [Profile], name: String, reference: String?, seed: UInt64) {
        self.profiles = profiles
        self.name = name
        self.reference = reference
        self.seed = seed
    }

    /// The same without any fault.
    package var withoutFaults: StageCase {
        StageCase(
            profiles: profiles.map { _ in Profile(name: "none") },
            name: "without faults",
            reference: nil,
            seed: seed
        )
    }
}

extension Scenario {
    /// Every run: each profile with each seed. Without `seeds` that is the seed of the only profile, else 1, so that it is the
    /// same each time.
    package var cases: [StageCase] {
        let own = proxies.compactMap { $0.profile?.profile }
        let all = profiles.isEmpty ? own : profiles.map(\.profile)
        let seeds = seeds?.seeds ?? [all.count == 1 ? all[0].seed ?? 1 : 1]
        guard !profiles.isEmpty, own.count < proxies.count else {
            var names: [String] = []
            for profile in own where !names.contains(profile.name) { names.append(profile.name) }
            let name = names.joined(separator: ", ")
            return seeds.map { StageCase(profiles: own, name: name, reference: nil, seed: $0) }
        }
        return profiles.flatMap { stage in
            seeds.map { seed in
                StageCase(
                    profiles: proxies.map { $0.profile?.profile ?? stage.profile.narrowed(to: $0.name) },
                    name: stage.profile.name,
                    reference: stage.reference,
                    seed: seed
                )
            }
        }
    }

    /// Whether a run without faults has to come first, to compare with.
    package var needsReference: Bool { expectations.contains(where: \.needsReference) }
    /// Whether the proxies have to read HTTP.
    package var needsMessages: Bool { expectations.contains(where: \.needsMessages) }
}
