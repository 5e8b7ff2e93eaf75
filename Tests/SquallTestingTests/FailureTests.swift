import Foundation
import OperatingSystem
import TestStreams
import Testing

/// What a failing test tells, seen from outside.
@Suite(.timeLimit(.minutes(4))) struct FailureTests {
    /// The end of a run of tests.
    private struct Outcome {
        var output: String
        var hasPassed: Bool
        /// The attachments by their names.
        var attachments: [String: String] = [:]
    }

    /// Runs one of `FailingTests` in another process.
    private func run(_ test: String, _ environment: [String: String] = [:]) async throws -> Outcome {
        let folder = try Folder()
        let attachments = folder.url.appendingPathComponent("attachments")
        try folder.makeFolder("attachments")
        let log = folder.url.appendingPathComponent("log")
        var variables = ProcessInfo.processInfo.environment
        for name in ["SQUALL_SEED", "SQUALL_JOURNALS"] { variables[name] = nil }
        // Those that the runner of this process has set are about this process.
        for name in variables.keys where name.hasPrefix("SWT_") || name.hasPrefix("SWIFT_TESTING") {
            variables[name] = nil
        }
        variables.merge(environment) { $1 }
        variables["SQUALL_FAILING_TESTS"] = "1"
        variables["SQUALL"] = builtSquall
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let child = try ChildProcess(
            [
                "/bin/sh", "-c", "log=$1; shift; exec \"$0\" \"$@\" >\"$log\" 2>&1", program, log.path,
                "--testing-library", "swift-testing", "--filter", "SquallTestingTests.FailingTests/\(test)\\(",
                "--attachments-path", attachments.path,
            ],
            environment: variables
        )
        let end = await child.end()
        var outcome = Outcome(output: try String(contentsOf: log, encoding: .utf8), hasPassed: end == .exit(0))
        for name in try FileManager.default.contentsOfDirectory(atPath: attachments.path) {
            let path = attachments.appendingPathComponent(name)
            outcome.attachments[name] = try String(contentsOf: path, encoding: .utf8)
        }
        #expect(outcome.output.contains("\(test)()"), "it has run: \(outcome.output)")
        return outcome
    }

    @Test func `a failed expectation names the seed that repeats it, and attaches the journal of that seed alone`()
        async throws
    {
        let outcome = try await run("expects")
        #expect(!outcome.hasPassed)
        let advice = "network: profile “faults”, seed 7, 1 fault event; SQUALL_SEED=7 repeats it"
        #expect(outcome.output.contains(advice), "\(outcome.output)")
        #expect(!outcome.output.contains("SQUALL_SEED=8"))
        #expect(outcome.attachments.keys.sorted() == ["faults-seed-7.jsonl"])
        let lines = try #require(outcome.attachments.values.first).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains(#""event":"journal""#) == true)
        #expect(lines.last?.contains(#""offset":40000"#) == true)

        let again = try await run("expects", ["SQUALL_SEED": "7"])
        #expect(!again.hasPassed && again.output.contains(advice))
        #expect(try await run("expects", ["SQUALL_SEED": "8"]).hasPassed)
        let wrong = try await run("expects", ["SQUALL_SEED": "seven"])
        #expect(!wrong.hasPassed && wrong.output.contains("SQUALL_SEED is “seven”: write a whole number"))
    }

    @Test func `a failed test of a command names the command and its seed, and attaches its journal`() async throws {
        let outcome = try await run("process")
        #expect(!outcome.hasPassed)
        let advice = "process: “bash” behind profile “faults”, seed 7, 1 fault event; SQUALL_SEED=7 repeats it"
        #expect(outcome.output.contains(advice), "\(outcome.output)")
        #expect(!outcome.output.contains("SQUALL_SEED=8"))
        #expect(outcome.attachments.keys.sorted() == ["faults-seed-7.jsonl"])
        #expect(outcome.attachments.values.first?.contains(#""offset":40000"#) == true)
    }

    @Test func `a cancelled test, such as one beyond its time limit, tells its seed and attaches its journal`()
        async throws
    {
        let outcome = try await run("isCancelled")
        #expect(
            outcome.output.contains("“sleep” behind profile “clear”, seed 4, 0 fault events; SQUALL_SEED=4 repeats it")
        )
        #expect(outcome.attachments.keys.sorted() == ["clear-seed-4.jsonl"], "\(outcome.output)")
    }

    @Test func `a failed requirement is recorded once, and the next seed still runs`() async throws {
        let outcome = try await run("requires")
        #expect(!outcome.hasPassed)
        #expect(outcome.output.contains("with 2 issues"), "\(outcome.output)")
        #expect(outcome.attachments.keys.sorted() == ["faults-seed-7.jsonl", "faults-seed-8.jsonl"])
    }

    @Test func `a thrown error is a failure with the advice`() async throws {
        let outcome = try await run("throwsError")
        #expect(!outcome.hasPassed)
        #expect(outcome.output.contains("Caught error: "))
        #expect(outcome.output.contains("SQUALL_SEED=1 repeats it"))
        #expect(outcome.attachments.count == 1)
    }

    @Test(arguments: [
        ("noConnection", "no connection came to 127.0.0.1:"), ("noFault", "no fault acted (profile “faults”, seed 1"),
        ("issueOfNoTest", "no connection came to 127.0.0.1:"),
        ("notConnected", "the test has connected no network and started no process: call TestNetwork.connect(to:)"),
        ("processWithoutConnection", "no connection came from “true”, so the test shows nothing: wait for its end"),
        ("processWithoutFault", "no fault acted (1 connection), so the test shows nothing"),
        ("processWithWrongProfile", ":1:38: “cat” is not a value of “kind”"),
        ("wrongProfile", ":1:38: “cat” is not a value of “kind”"),
        ("wrongAddress", "upstream: “nowhere” is no address"),
        ("noSeeds", "the test has no seeds: give from 1 to 1000"),
    ])
    func `a test that shows nothing, or can't start, fails with the reason`(test: String, reason: String) async throws {
        let outcome = try await run(test)
        #expect(!outcome.hasPassed)
        #expect(outcome.output.contains(reason), "\(outcome.output)")
    }

    @Test(arguments: ["passes", "isKnown"])
    func `a test that passes attaches nothing`(test: String) async throws {
        let outcome = try await run(test)
        #expect(outcome.hasPassed, "\(outcome.output)")
        #expect(outcome.attachments.isEmpty)
        #expect(!outcome.output.contains("SQUALL_SEED"))
    }
}
