import Testing
import Units

@testable import FaultProfile

@Suite struct TraceReadingTests {
    /// Reads a profile with the traces that `traces` has by their paths.
    private func read(
        _ faults: String,
        file: String = "dir/p.json",
        traces: [String: String]
    ) throws(ProfileProblems) -> Profile {
        let source = ProfileSource(file: file, text: "{ \"name\": \"x\", \"faults\": [\n\(faults)\n] }")
        return try ProfileReader.profile(from: source) { reference in
            guard case .trace(let path) = reference, let text = traces[path] else {
                return .failure(ResolutionError(what: "there is no \(reference)", remedy: "write another"))
            }
            return .success(ProfileSource(file: path, text: text))
        }
    }

    private func problems(_ text: String) -> [String] {
        do {
            _ = try read(#"{ "kind": "trace", "file": "t" }"#, traces: ["dir/t": text])
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(arguments: ["0\n2\n2\n5\n", "0\n2\n2\n5", "0\r\n2\r\n2\r\n5\r\n", "00\n02\n2\n0005\n"])
    func `a trace is read line by line`(text: String) throws {
        let profile = try read(#"{ "kind": "trace", "file": "t", "queue": "64 KiB" }"#, traces: ["dir/t": text])
        let expected = Trace(file: "dir/t", opportunities: [0, 2, 2, 5], queue: .kibibytes(64))
        #expect(profile.faults.map(\.kind) == [.trace(expected)])
    }

    @Test func `a queue of 256 KiB stands in front of a trace that says nothing of it`() throws {
        let profile = try read(#"{ "kind": "trace", "file": "t" }"#, traces: ["dir/t": "4294967295"])
        #expect(profile.faults.map(\.kind) == [.trace(Trace(file: "dir/t", opportunities: [4_294_967_295]))])
        #expect(Trace.defaultQueue == .kibibytes(256))
    }

    @Test(arguments: [
        ("dir/p.json", "t", "dir/t"), ("dir/p.json", "traces/t", "dir/traces/t"), ("dir/p.json", "/t", "/t"),
        ("p.json", "t", "t"), ("a/b/p.json", "../t", "a/b/../t"),
    ])
    func `its path starts from the folder of the profile`(file: String, trace: String, path: String) throws {
        _ = try read("{ \"kind\": \"trace\", \"file\": \"\(trace)\" }", file: file, traces: [path: "1"])
    }

    @Test(arguments: [
        ("", "dir/t:1:1: the trace is empty"),
        ("0\n0\n", "dir/t:2:1: the trace has no length: its last line is 0"),
        ("5\n4\n7", "dir/t:2:1: the time is earlier than that of the line before"),
        ("1\n\n2\n", "dir/t:2:1: the line is empty"),
        ("1\n2\n\n", "dir/t:3:1: the line is empty"),
        ("1\n2 ms\n", "dir/t:2:1: the line is not a time of a trace"),
        ("-1\n2", "dir/t:1:1: the line is not a time of a trace"),
        ("1.5", "dir/t:1:1: the line is not a time of a trace"),
        ("4294967296", "dir/t:1:1: the line is not a time of a trace"),
    ])
    func `a mistake in a trace is named with the file and the line`(text: String, problem: String) {
        #expect(problems(text).map { $0.prefix { $0 != "(" } } == ["\(problem) "])
    }

    @Test func `all mistakes are named at once, in the profile and in its traces`() throws {
        let faults = """
            { "kind": "trace", "file": "a", "queue": "1 KiB" },
            { "kind": "trace", "file": "missing" },
            { "kind": "trace", "file": "a" },
            { "kind": "trace", "file": "" }, { "kind": "trace" }
            """
        let thrown = #expect(throws: ProfileProblems.self) {
            _ = try read(faults, traces: ["dir/a": "x\n3\n2\n"])
        }
        let found = try #require(thrown).problems.map { "\($0.file):\($0.line): \($0.what)" }
        #expect(
            found == [
                "dir/p.json:2: a queue of 1 KiB has no room for the 1500 B of an opportunity",
                "dir/p.json:3: there is no trace(\"dir/missing\")", "dir/p.json:5: “file” is empty",
                "dir/p.json:5: a trace fault needs the key “file”", "dir/a:1: the line is not a time of a trace",
                "dir/a:3: the time is earlier than that of the line before",
            ]
        )
    }

    @Test func `a trace has at most a million lines and 8 MiB, and a profile 16 of them`() {
        #expect(problems(String(repeating: "1\n", count: 1_000_000)) == [])
        #expect(problems(String(repeating: "\n", count: 8_000_000)).count == 1)
        #expect(
            problems(String(repeating: "1\n", count: 1_000_001)) == [
                "dir/t:1000001:1: the trace has more than 1000000 lines (shorten it: it starts over at its end)"
            ]
        )
        #expect(
            problems(String(repeating: "0000000001\n", count: 800_000)) == [
                "dir/t:1:1: the trace has more than 8 MiB (shorten it: it starts over at its end)"
            ]
        )
        let faults = (0..<17).map { "{ \"kind\": \"trace\", \"file\": \"t\($0 % 16)\" }" }.joined(separator: ",\n")
        let traces = Dictionary(uniqueKeysWithValues: (0..<17).map { ("dir/t\($0)", "1") })
        #expect(throws: Never.self) { _ = try read(faults, traces: traces) }
        #expect(throws: ProfileProblems.self) {
            _ = try read(faults + ",\n{ \"kind\": \"trace\", \"file\": \"t16\" }", traces: traces)
        }
    }

    @Test func `the shipped trace of 12 Mbit/s has an opportunity for each millisecond`() throws {
        var problems = ProblemList()
        let file = problems.addFile("t")
        let bytes = try Repository.bytes(of: "Profiles/traces/12mbit.trace")
        #expect(TraceReader.opportunities(bytes, file: file, &problems) == Array(1...12))
    }
}
