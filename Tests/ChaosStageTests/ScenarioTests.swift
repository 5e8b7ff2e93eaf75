import ChaosStage
import FaultProfile
import Testing
import Units

/// Scenario files, and the runs that they make.
struct ScenarioTests {
    private static let shipped = ["slow": Profile(name: "slow"), "flaky": Profile(name: "flaky")]

    private func scenario(_ text: String) throws -> Scenario {
        try ScenarioReader.scenario(
            from: ProfileSource(file: "stage.json", bytes: Array(text.utf8)),
            resolving: { reference throws(ProfileProblems) in
                if let profile = Self.shipped[reference] { return profile }
                let problem = Problem(
                    file: "",
                    line: 0,
                    column: 0,
                    what: "there is no profile “\(reference)”",
                    remedy: "no"
                )
                throw ProfileProblems(problems: [problem])
            },
            files: { _ in .failure(ResolutionError(what: "no file here", remedy: "write it in place")) }
        )
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
        #expect(scenario.proxies.map(\.isUnix) == [false, true])
        #expect(scenario.proxies.map(\.url) == ["postgresql://{address}/test", "unix:{address}"])
        #expect(scenario.seeds.seeds == [1, 2, 3, 7])
        #expect(scenario.command == ["run", "{db}"])
        #expect(scenario.expectations.map(\.text) == ["exit == 0", "db.connections >= 1"])
        #expect(scenario.timeLimit == .seconds(90))
        #expect(scenario.jobs == 4)
        #expect(scenario.allowsVacuous)
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
        (#""name": "checkout""#, #""nam": "checkout""#, "did you mean “name”?"),
        (#""proxies": ["#, #""proxies": 3, "x": ["#, "“proxies” must be a list, not a number"),
        (#""name": "cache""#, #""name": "db""#, "two proxies are called “db”"),
        (#""listen": "unix""#, #""listen": "127.0.0.1:80""#, "is no place to listen at"),
        (#""upstream": "127.0.0.1:5432", "#, "", "a proxy needs “upstream”"),
        (#""slow", "#, #""slw", "#, "there is no profile “slw”"),
        (#""delay": "5 ms""#, #""delay": "5""#, "has no unit"), (#"1..3,7"#, "3..1", "is no list of seeds"),
        (#"["run", "{db}"]"#, "[]", "“command” has 0 elements"),
        (#""command""#, #""comand""#, "a scenario needs “command”"),
        (#""exit == 0""#, #""exit = 0""#, "at character 6"), (#""90 s""#, #""90""#, "has no unit"),
        (#""90 s""#, #""0 s""#, "is zero"), (#""jobs": 4"#, #""jobs": 0"#, "from 1 to 32"),
        (#""jobs": 4"#, #""jobs": 33"#, "from 1 to 32"), ("true", "1", "is true or false"),
        (#""profiles": ["slow", "flaky"], "#, "", "a proxy has no profile"),
        ("1..3,7", "1..5000", "more than 1000 seeds"),
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

    @Test(arguments: [("7", [7]), ("1..3", [1, 2, 3]), ("1..2, 9,2", [1, 2, 9])] as [(String, [UInt64])])
    func `seeds are read as numbers and ranges, each once`(text: String, seeds: [UInt64]) throws {
        #expect(try SeedList(parsing: text).seeds == seeds)
    }

    @Test(arguments: ["", "a", "1..", "..3", "3..1", "-1", "1.5", "1...3", "18446744073709551615", "1..1001"])
    func `what is no list of seeds is refused`(text: String) {
        #expect(throws: UnitError.self) { try SeedList(parsing: text) }
    }

    // MARK: Verdicts

    private func reasons(
        _ ending: RunReport.Ending,
        _ change: (inout Measurements) -> Void = { _ in },
        expect: String = "connections >= 1",
        allowsVacuous: Bool = false
    ) throws -> [String] {
        let text = Self.whole.replacing(#""exit == 0", "db.connections >= 1""#, with: "\"\(expect)\"")
        var scenario = try scenario(text)
        scenario.allowsVacuous = allowsVacuous
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

    @Test func `a run without a connection is vacuous, unless that is allowed`() throws {
        let none = { (figures: inout Measurements) in figures.proxies[0].connections = 0 }
        #expect(try reasons(.exit(0), none, expect: "exit == 0").count == 1)
        #expect(try reasons(.exit(0), none, expect: "exit == 0", allowsVacuous: true) == [])
    }

    @Test func `a profile of which no fault acted in any run is vacuous`() throws {
        func run(_ profile: String, seed: UInt64, faults: Int64) -> RunReport {
            var proxy = Measurements.Proxy(name: "db")
            proxy.connections = 1
            if faults > 0 { proxy.faults = ["cut": faults] }
            return RunReport(
                profile: profile,
                seed: seed,
                began: .zero,
                ending: .exit(0),
                measurements: Measurements(exit: 0, time: .zero, proxies: [proxy]),
                reasons: [],
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
        scenario.noteVacuous(&runs)
        #expect(!runs.contains { !$0.hasPassed })
        scenario.allowsVacuous = false
        scenario.noteVacuous(&runs)
        #expect(runs.map(\.hasPassed) == [true, true, false, false])
    }
}
