import Testing
import Units

@testable import FaultProfile

@Suite("Faults of single proxies")
struct ProxyFaultTests {
    private static let proxies = """
        { "name": "postgres", "listen": "127.0.0.1:0", "upstream": "a:1"POSTGRES },
        { "name": "redis", "listen": "127.0.0.1:0", "upstream": "a:1"REDIS }
        """

    /// A profile with two proxies, and what is given of them and of the profile.
    private func text(postgres: String = "", redis: String = "", _ rest: String = "") -> String {
        let proxies = ProxyFaultTests.proxies.replacing("POSTGRES", with: postgres).replacing("REDIS", with: redis)
        return "{ \"name\": \"x\", \"proxies\": [\n\(proxies)\n]\(rest) }"
    }

    private func names(_ profile: Profile) -> [String] {
        profile.faults.map(\.name) + profile.phases.flatMap(\.faults).map(\.name)
    }

    @Test func `a proxy has the faults of the profile, but for those of others, and its own`() throws {
        let profile = try profile(
            text(
                postgres: #", "faults": [ { "kind": "latency", "delay": "200 ms" } ]"#,
                """
                , "faults": [ { "kind": "latency", "delay": "1 ms" },
                              { "kind": "outage", "how": "refuse", "when": { "proxy": "redis" } } ],
                "phases": [ { "name": "p", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": ["redis"] } } ] } ]
                """
            )
        )
        #expect(profile.hasFaultsOfProxies)
        #expect(names(profile.narrowed(to: "postgres")) == ["latency", "postgres/latency"])
        let redis = profile.narrowed(to: "redis")
        #expect(names(redis) == ["latency", "outage", "p/cut"])
        #expect(redis.faults.allSatisfy { $0.condition == Condition() })
        #expect(redis.proxies == [ProxyDefinition(name: "redis", listen: "127.0.0.1:0", upstream: "a:1")])
        #expect(names(profile.narrowed(to: "other")) == ["latency"])
        #expect(profile.allFaults.count == 4)
    }

    @Test func `phases of its own take the place of the profile's, and so does a profile of its own`() throws {
        let slow =
            #""phases": [ { "name": "own", "for": "1 s", "faults": [ { "kind": "latency", "delay": "1 s" } ] } ]"#
        let other = #""profile": { "name": "q", "faults": [ { "kind": "cut", "at": "9 B" } ], "repeat": false }"#
        let profile = try profile(
            text(
                postgres: ", \(slow), \"repeat\": true",
                redis: ", \(other)",
                """
                , "faults": [ { "kind": "cut", "at": "1 B" } ], "phases": [ { "name": "all", "faults": [
                    { "kind": "outage", "how": "silence" } ] } ]
                """
            )
        )
        let postgres = profile.narrowed(to: "postgres")
        #expect(names(postgres) == ["cut", "own/latency"] && postgres.repeats)
        let redis = profile.narrowed(to: "redis")
        #expect(names(redis) == ["cut"] && redis.phases.isEmpty)
        #expect(redis.faults.first?.kind == .cut(Cut(position: .at(ByteCount(9)), how: .reset)))
    }

    @Test func `a profile without faults of single proxies is the same for all of them`() throws {
        let profile = try profile(text(#", "faults": [ { "kind": "cut", "at": "1 B" } ]"#))
        #expect(profile.narrowed(to: "postgres") == profile)
        #expect(!profile.hasFaultsOfProxies)
    }

    @Test func `a proxy names another profile, which is read once, with its bases`() throws {
        let named = #", "profile": "slow""#
        var asked: [ProfileReference] = []
        let files = [
            "slow": #"{ "name": "slow", "extends": "base", "faults": [ { "kind": "latency", "delay": "1 s" } ] }"#,
            "base": #"{ "name": "base", "seed": 3, "faults": [ { "kind": "cut", "at": "1 B" } ] }"#,
        ]
        let profile = try ProfileReader.profile(
            from: ProfileSource(file: "p.json", text: text(postgres: named, redis: named))
        ) { reference in
            asked.append(reference)
            guard case .shipped(let name) = reference, let text = files[name] else {
                return .failure(ResolutionError(what: "there is none", remedy: "write one"))
            }
            return .success(ProfileSource(file: "\(name).json", text: text))
        }
        #expect(asked == [.shipped("slow"), .shipped("base")])
        #expect(names(profile.narrowed(to: "redis")) == ["cut", "latency"])
        #expect(profile.seed == nil)
        #expect(profile.proxies.first?.profile?.name == "slow")
    }

    @Test(arguments: [
        (
            #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": "redsi" } } ]"#, "",
            "4:65: the profile has no proxy “redsi” (write “redis”)"
        ),
        (
            #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": ["redis", 3] } } ]"#, "",
            "4:75: “proxy” is a text, not a number (write it in double quotes)"
        ),
        (
            #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": [] } } ]"#, "",
            "4:65: “proxy” is an empty list (write the name of a proxy, or delete it)"
        ),
        (
            "", #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": "redis" } } ]"#,
            "2:128: a fault of one proxy is for no other (delete “proxy” in its “when”)"
        ),
        (
            "", #", "profile": { "name": "q", "faults": [ { "kind": "discard", "when": { "proxy": "nope" } } ] }"#,
            "2:145: the profile has no proxy “nope” (write “postgres” or “redis”)"
        ),
        (
            #", "faults": [ { "name": "a", "kind": "cut", "at": "1 B" } ]"#,
            #", "faults": [ { "name": "a", "kind": "cut", "at": "1 B" } ]"#,
            "2:89: the fault name “a” is taken by another one (line 4) (give this fault a “name” that no other has)"
        ),
        (
            "", #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "after": "cut" } } ]"#,
            "2:128: the proxy “postgres” has no fault “cut” (delete “after”: the proxy “postgres” has no other fault)"
        ),
        (
            "", #", "repeat": true"#,
            "2:67: “repeat” of a proxy is about its own phases, and it has none (delete it, or add “\"phases\": [ … ]”)"
        ),
        ("", #", "profile": 3"#, "2:78: “profile” is a text, not a number (write it in double quotes)"),
        (
            "", #", "profile": "slow-3g""#,
            "2:78: a profile can't extend another one here (copy what it needs from the other one)"
        ),
        (
            "", #", "profile": { "name": "q", "seed": 3 }"#,
            "2:93: the profile of a proxy has no key “seed” (its keys are “name”, “faults”, “phases”, “repeat”)"
        ),
    ])
    func `what is wrong has its place, and what to do about it`(rest: String, postgres: String, problem: String) {
        #expect(problems(text(postgres: postgres, rest)) == [problem])
    }

    @Test func `one name for faults of two proxies is fine, and so is one that is for others`() {
        let cut = #", "faults": [ { "name": "a", "kind": "cut", "at": "1 B" } ]"#
        let other = #", "faults": [ { "name": "a", "kind": "stall", "for": "1 s", "when": { "proxy": "redis" } } ]"#
        #expect(problems(text(postgres: cut, redis: cut)) == [])
        #expect(problems(text(postgres: cut, other)) == [])
    }

    @Test func `a fault of a proxy comes after one of the profile`() {
        let after = #", "faults": [ { "kind": "cut", "at": "1 B", "when": { "after": "stall" } } ]"#
        #expect(problems(text(postgres: after, #", "faults": [ { "kind": "stall", "for": "1 s" } ]"#)) == [])
    }

    @Test func `a fault of the profile comes after one that its proxy has as well`() {
        let stall = #"{ "name": "x", "kind": "stall", "for": "1 s" }"#
        let onPostgres = #"{ "name": "x", "kind": "stall", "for": "1 s", "when": { "proxy": "postgres" } }"#
        let cut = #"{ "kind": "cut", "at": "1 B", "when": { "after": "x" } }"#
        let onRedis = #"{ "kind": "cut", "at": "1 B", "when": { "after": "x", "proxy": "redis" } }"#
        func found(_ faults: String..., phase: String? = nil, redis: String = "") -> [String] {
            let phases = phase.map { ", \"phases\": [ { \"name\": \"p\", \"faults\": [ \($0) ] } ]" } ?? ""
            return problems(text(redis: redis, ",\n\"faults\": [ \(faults.joined(separator: ",\n")) ]\(phases)"))
        }
        let problem =
            "6:50: the proxy “redis” has no fault “x”"
            + " (narrow this fault to proxies that have the other one, by “proxy” in its “when”)"
        #expect(found(onPostgres, onRedis) == [problem])
        #expect(found(onPostgres, cut) == [problem])
        #expect(found(stall, onRedis) == [])
        let phases = #", "phases": [ { "name": "q" } ]"#
        #expect(found(cut, phase: stall) == [])
        #expect(found(cut, phase: stall, redis: phases) == [problem.replacing("6:50", with: "5:62")])
        let onOther = cut.replacing(#""x" }"#, with: #""x", "proxy": "postgres" }"#)
        #expect(found(onOther, phase: stall, redis: phases) == [])
    }

    @Test func `what is wrong in the order of the profile is told once, not for each proxy`() {
        func fault(_ name: String, after: String) -> String {
            #"{ "name": "\#(name)", "kind": "stall", "for": "1 s", "when": { "after": "\#(after)" } }"#
        }
        let circle = fault("a", after: "b") + ", " + fault("b", after: "a")
        for faults in [fault("a", after: "none"), fault("a", after: "a"), circle] {
            #expect(problems(text(", \"faults\": [ \(faults) ]")).count == 1)
        }
    }
}
