import ChaosStage
import FaultProfile
import Testing
import Units

/// Scenario files, and the runs that they make.
struct ScenarioTests {
    private func scenario(_ text: String) throws -> Scenario {
        try ScenarioReader.scenario(from: ProfileSource(file: "stage.json", bytes: Array(text.utf8))) { reference in
            guard case .shipped(let name) = reference, ["slow", "flaky"].contains(name) else {
                let what = "there is no profile \(reference)"
                return .failure(ResolutionError(what: what, remedy: "no"))
            }
            return .success(ProfileSource(file: name, bytes: Array("{ \"name\": \"\(name)\" }".utf8)))
        }
    }

    private static let whole = """
        { "$schema": "scenario.schema.json", "name": "checkout",
          "proxies": [
            { "name": "db", "upstream": "127.0.0.1:5432", "url": "postgresql://{address}/test" },
            { "name": "cache", "listen": "unix", "upstream": "127.0.0.1:6379",
              "profile": { "name": "late", "faults": [ { "kind": "latency", "delay": "5 ms" } ] } } ],
          "profiles": ["slow", "flaky"], "seeds": "1..3,7", "command": ["run", "{db}"],
          "expect": ["exit == 0", "db.connections >= 1"], "time-limit": "90 s", "jobs": 4, "allow-vacuous": true }
        """

    @Test func `a whole scenario is read`() throws {
        let scenario = try scenario(Self.whole)
        #expect(scenario.name == "checkout")
        #expect(scenario.proxies.map(\.name) == ["db", "cache"])
        #expect(scenario.proxies.map(\.listening) == [.tcp, .unix])
        #expect(scenario.proxies.map(\.url) == ["postgresql://{address}/test", "unix:{address}"])
        #expect(scenario.seeds?.seeds == [1, 2, 3, 7])
        #expect(scenario.command == ["run", "{db}"])
        #expect(scenario.expectations.map(\.text) == ["exit == 0", "db.connections >= 1"])
        #expect(scenario.timeLimit == .seconds(90))
        #expect(scenario.jobs == 4)
        #expect(scenario.allowsVacuous)
    }

    @Test func `the command's side has TLS if that of the upstream has it, or as it says`() throws {
        for (upstream, listen, listening, url) in [
            ("https://api.test", "", .tls, "https://{address}"), ("tls:api.test:443", "", .tls, "https://{address}"),
            ("https://api.test", #""listen": "tcp","#, .tcp, "http://{address}"),
            ("api.test:80", #""listen": "tls","#, .tls, "https://{address}"),
        ] as [(String, String, Scenario.Proxy.Listening, String)] {
            let text = Self.whole.replacing(
                #""upstream": "127.0.0.1:5432", "url": "postgresql://{address}/test""#,
                with: "\(listen) \"upstream\": \"\(upstream)\""
            )
            let proxy = try scenario(text).proxies[0]
            #expect(proxy.listening == listening)
            #expect(proxy.url == url)
        }
    }

    @Test func `every profile runs with every seed, and a proxy keeps a profile of its own`() throws {
        let cases = try scenario(Self.whole).cases
        #expect(cases.map(\.name) == ["slow", "slow", "slow", "slow", "flaky", "flaky", "flaky", "flaky"])
        #expect(cases.map(\.seed) == [1, 2, 3, 7, 1, 2, 3, 7])
        #expect(Set(cases.map { $0.profiles[1].name }) == ["late"])
        #expect(cases.map { $0.profiles[0].name } == cases.map(\.name))
        #expect(cases[5].reference == "flaky")
        #expect(cases[0].withoutFaults.profiles.allSatisfy { $0.allFaults.isEmpty })
    }

    /// A scenario with one thing wrong: what is replaced in `whole`, by what, and the problem.
    static let wrong: [(old: String, new: String, problem: String)] = [
        (#""name": "checkout""#, #""nam": "checkout""#, "write “name”"),
        (#""proxies": ["#, #""proxies": 3, "x": ["#, "“proxies” must be a list, not a number"),
        (#""name": "cache""#, #""name": "db""#, "two proxies are called “db”"),
        (#""listen": "unix""#, #""listen": "127.0.0.1:80""#, "is no place to listen at"),
        (#""upstream": "127.0.0.1:5432", "#, "", "a proxy of a scenario needs the key “upstream”"),
        (#""slow", "#, #""slw", "#, "there is no profile shipped(\"slw\")"),
        (#""delay": "5 ms""#, #""delay": "5""#, "has no unit"), (#"1..3,7"#, "3..1", "is no list of seeds"),
        (#"["run", "{db}"]"#, "[]", "“command” has no element"),
        (#""command""#, #""comand""#, "a scenario needs the key “command”"),
        (#""exit == 0""#, #""exit = 0""#, "at character 6"), (#""90 s""#, #""90""#, "has no unit"),
        (#""90 s""#, #""0 s""#, "is zero"), (#""jobs": 4"#, #""jobs": 0"#, "from 1 to 32"),
        (#""jobs": 4"#, #""jobs": 33"#, "from 1 to 32"), ("true", "1", "is true or false"),
        (#""profiles": ["slow", "flaky"], "#, "", "a proxy has no profile"),
        ("1..3,7", "1..5000", "more than 1000 seeds"),
        (#"["run", "#, #"["run\u0000", "#, "“command” can't have the character U+0000"),
        (#"{address}/test"#, #"{address}\u0000/test"#, "“url” can't have the character U+0000"),
    ]

    @Test(arguments: wrong.indices)
    func `a wrong scenario tells the place and what to do`(index: Int) throws {
        let (old, new, problem) = Self.wrong[index]
        let text = Self.whole.replacing(old, with: new)
        #expect(text != Self.whole)
        let error = try #require(throws: ProfileProblems.self) { try scenario(text) }
        #expect(error.description.contains(problem), "\(error)")
        #expect(error.problems.allSatisfy { $0.file == "stage.json" && $0.line > 0 && $0.column > 0 }, "\(error)")
    }

    @Test func `the seed by default is that of the only profile, else 1`() throws {
        let seedless = Self.whole.replacing(#""seeds": "1..3,7", "#, with: "")
        let inline = #"{ "name": "drawn", "seed": 9, "faults": [ { "kind": "latency", "delay": "5 ms" } ] }"#
        for (profiles, seed) in [(#""slow", "flaky""#, 1), (#""slow""#, 1), (inline, 9), ("\(inline), \"slow\"", 1)] {
            let scenario = try scenario(seedless.replacing(#""slow", "flaky""#, with: profiles))
            #expect(Set(scenario.cases.map(\.seed)) == [UInt64(seed)], "\(profiles)")
        }
    }

    @Test func `a proxy's own profile is the only one where the scenario has no others`() throws {
        let own = #"{ "name": "p", "upstream": "127.0.0.1:9", "profile": { "name": "a", "seed": 7 } }"#
        let rest = #"{ "name": "q", "upstream": "127.0.0.1:9" }"#
        let named = #""profiles": [ { "name": "b", "seed": 9 } ], "#
        for (proxies, profiles, seed) in [(own, "", 7), (rest, named, 9), ("\(own), \(rest)", named, 9)] {
            let scenario = try scenario(#"{ "proxies": [ \#(proxies) ], \#(profiles)"command": ["true"] }"#)
            #expect(scenario.cases.map(\.seed) == [UInt64(seed)], "\(proxies)")
        }
        let other = own.replacing("\"p\"", with: "\"r\"")
        let two = try scenario(#"{ "proxies": [ \#(own), \#(other) ], "command": ["true"] }"#)
        #expect(two.cases.map(\.seed) == [1])
    }

    @Test func `a profile that takes the place of others brings its seed`() throws {
        let text = #"{ "exec": true, "profiles": [ { "name": "a", "seed": 7 } ], "command": ["true"] }"#
        var scenario = try scenario(text)
        #expect(scenario.cases.map(\.seed) == [7])
        scenario.profiles = [StageProfile(reference: "b.json", profile: Profile(name: "b", seed: 9))]
        #expect(scenario.cases.map(\.seed) == [9])
        scenario.seeds = try SeedList(parsing: "3")
        #expect(scenario.cases.map(\.seed) == [3])
    }

    @Test(
        arguments: [
            ("7", [7]), ("1..3", [1, 2, 3]), ("1..2, 9,2", [1, 2, 9]), ("18446744073709551615", [.max]),
        ] as [(String, [UInt64])]
    )
    func `seeds are read as numbers and ranges, each once`(text: String, seeds: [UInt64]) throws {
        #expect(try SeedList(parsing: text).seeds == seeds)
    }

    @Test(arguments: [
        "", "a", "1..", "..3", "3..1", "-1", "1.5", "1...3", "18446744073709551616", "1..1001",
        "0..18446744073709551615", "1..9223372036854775808",
    ])
    func `what is no list of seeds is refused`(text: String) {
        #expect(throws: UnitError.self) { try SeedList(parsing: text) }
    }

    // MARK: Verdicts

    @Test(arguments: [
        (ScenarioTests.whole, "does the command use {db}, {cache}?"),
        (
            #"{ "exec": true, "profiles": ["slow"], "command": ["run"] }"#,
            "the command opened no TCP connection that --only and --except choose"
        ),
    ])
    func `the verdict of a run without a connection names the likely cause`(text: String, hint: String) throws {
        let scenario = try scenario(text)
        let figures = Measurements(exit: 0, time: .seconds(1), proxies: scenario.proxies.map { .init(name: $0.name) })
        let reason = scenario.emptiness(figures, of: scenario.cases[0], time: .seconds(1))?.reason
        #expect(reason?.hasSuffix(hint) == true, "\(reason ?? "")")
    }

    private func reasons(
        _ ending: RunReport.Ending,
        _ change: (inout Measurements) -> Void = { _ in },
        expect: String = "connections >= 1"
    ) throws -> [String] {
        let text = Self.whole.replacing(#""exit == 0", "db.connections >= 1""#, with: "\"\(expect)\"")
        let scenario = try scenario(text)
        var proxy = Measurements.Proxy(name: "db")
        proxy.connections = 2
        var exit: Int64 = 0
        if case .exit(let code) = ending { exit = Int64(code) }
        if case .signal(let number) = ending { exit = 128 + Int64(number) }
        var figures = Measurements(exit: exit, time: .seconds(1), proxies: [proxy])
        change(&figures)
        return scenario.failures(ending, figures, digests: [:])
    }

    @Test func `a run passes with exit 0 and expectations that hold`() throws {
        #expect(try reasons(.exit(0)) == [])
    }

    @Test func `another exit code fails, unless an expectation is about it`() throws {
        #expect(try reasons(.exit(4)) == ["the command exited with 4"])
        #expect(try reasons(.signal(11)) == ["the command was ended by signal 11"])
        #expect(try reasons(.exit(4), expect: "exit == 4") == [])
        #expect(try reasons(.signal(11), expect: "exit == 139") == [])
    }

    @Test func `the time limit fails whatever is expected`() throws {
        #expect(try reasons(.timeLimit(.seconds(5)), expect: "exit >= 0") == ["the command didn't end within 5 s"])
    }

    @Test func `a guard that is gone fails whatever is expected, and an interrupted run doesn't`() throws {
        let reason = "the process that guards the command was stopped, so all that it had started was killed"
        #expect(try reasons(.guardLost(wasStopped: true), expect: "exit >= 0") == [reason])
        #expect(try reasons(.interrupted, { $0.exit = 7 }) == [])
    }

    @Test func `a dead upstream is the first reason of a run that fails, and no reason of another`() throws {
        let dead = { (figures: inout Measurements) in figures.proxies[0].upstreamFailure = "127.0.0.1:9: refused" }
        let reason = "the proxy “db” can't reach its upstream 127.0.0.1:9: refused"
        #expect(try reasons(.exit(4), dead) == [reason, "the command exited with 4"])
        #expect(try reasons(.timeLimit(.seconds(5)), dead) == [reason, "the command didn't end within 5 s"])
        #expect(try reasons(.exit(0), dead) == [])
    }

    @Test func `a scenario with exec has one proxy, and no others`() throws {
        let found = try scenario(#"{ "exec": true, "profiles": ["flaky"], "command": ["true"] }"#)
        #expect(found.isSupervised)
        #expect(found.proxies.map(\.name) == ["exec"])
        let both = Self.whole.replacing("\"jobs\": 4", with: "\"exec\": true")
        #expect(throws: ProfileProblems.self) { try scenario(both) }
        let none = #"{ "profiles": ["flaky"], "command": ["true"] }"#
        #expect(throws: ProfileProblems.self) { try scenario(none) }
    }

    @Test func `phases are required only where the scenario says so`() throws {
        let phases = [Phase(name: "calm", duration: .seconds(4)), Phase(name: "later", duration: .seconds(4))]
        let profile = Profile(name: "x", phases: phases)
        let coverage = [Coverage(of: profile, seed: 1, proxy: "db", time: .seconds(1), acted: [])]
        var scenario = try scenario(Self.whole.replacing("\"jobs\": 4", with: "\"require-phases\": true"))
        #expect(scenario.requiresPhases)
        var proxy = Measurements.Proxy(name: "db")
        proxy.connections = 1
        let figures = Measurements(exit: 0, time: .seconds(1), proxies: [proxy])
        let reason = "the run met 1 of 2 phases: not later (later begins at 4.0 s, the run took 1.0 s)"
        #expect(scenario.failures(.exit(0), figures, coverage: coverage, digests: [:]) == [reason])
        scenario.requiresPhases = false
        #expect(scenario.failures(.exit(0), figures, coverage: coverage, digests: [:]) == [])
    }

    @Test func `a run without a connection is empty, and fails the stage unless that is allowed`() throws {
        let figures = Measurements(exit: 0, time: .zero, proxies: [Measurements.Proxy(name: "db")])
        var scenario = try scenario(Self.whole)
        #expect(scenario.emptiness(figures, of: scenario.cases[0], time: .zero)?.isFailure == false)
        scenario.allowsVacuous = false
        #expect(scenario.emptiness(figures, of: scenario.cases[0], time: .zero)?.isFailure == true)
    }

    @Test func `a profile of which every run is empty fails, and one of which some are passes`() throws {
        func run(_ profile: String, seed: UInt64, faults: Int64) -> RunReport {
            var proxy = Measurements.Proxy(name: "db")
            proxy.connections = 1
            return RunReport(
                profile: profile,
                seed: seed,
                began: .zero,
                ending: .exit(0),
                measurements: Measurements(exit: 0, time: .zero, proxies: [proxy]),
                reasons: [],
                emptiness: faults > 0 ? nil : RunReport.Emptiness(reason: "nothing", isFailure: false),
                replay: "",
                output: "",
                droppedOutput: 0,
                timeline: Timeline()
            )
        }
        var runs = [
            run("slow", seed: 1, faults: 0), run("slow", seed: 2, faults: 1), run("flaky", seed: 1, faults: 0),
            run("flaky", seed: 2, faults: 0),
        ]
        var scenario = try scenario(Self.whole)
        scenario.judgeEmptiness(of: &runs)
        #expect(!runs.contains { $0.isFailure })
        scenario.allowsVacuous = false
        scenario.judgeEmptiness(of: &runs)
        #expect(runs.map(\.isFailure) == [false, false, true, true])
        #expect(runs.map(\.result) == [.empty, .passed, .empty, .empty])
    }
}
