import Foundation
import Testing

/// `squall test --exec`: a stage of a command that knows of no proxy.
@Suite(.timeLimit(.minutes(5))) struct SupervisedStageTests {
    private func test(_ words: [String], in folder: URL) async throws -> Outcome {
        try await squall(["test"] + words, folder: folder)
    }

    /// Runs that fetch a file; with `retries` curl tries again.
    private func fetch(_ origin: String, retries: Int) -> [String] {
        ["--", "curl", "-sS", "-m", "20", "--retry", "\(retries)", "--retry-all-errors", "--retry-delay", "1"]
            + ["-o", "{folder}/out", "http://\(origin)/file.bin"]
    }

    @Test func `a client that tries again passes, and one that doesn't fails`() async throws {
        try await withOrigin(size: 200_000) { origin in
            try await withFolder { folder in
                let words = ["--exec", "--profile", "first-two-fail", "--expect", "connections <= 3"]
                let passed = try await test(words + fetch(origin, retries: 3), in: folder)
                #expect(passed.status == 0, "\(passed)")
                #expect(passed.output.contains("exit 0, 3 connections, 2 faults"), "\(passed.output)")
                let failed = try await test(words + fetch(origin, retries: 0), in: folder)
                #expect(failed.status == 1, "\(failed)")
                #expect(failed.output.contains("The command passes without faults, with seed 1."), "\(failed.output)")
                #expect(failed.output.contains("repeat it: squall test --exec --profile first-two-fail --seed 1"))
            }
        }
    }

    @Test func `a run gives back the descriptors that it has opened`() async throws {
        try await withFolder { folder in
            // The command's parent is its guard, and that of the guard the stage.
            let script = "set -- $(cat /proc/$PPID/stat); ls /proc/$4/fd | wc -l >> counts"
            let words = ["--exec", "--latency", "1ms", "--seed", "1..6", "--allow-vacuous", "--", "sh", "-c", script]
            let outcome = try await test(words, in: folder)
            #expect(outcome.status == 0, "\(outcome)")
            let text = try String(contentsOf: folder.appendingPathComponent("counts"), encoding: .utf8)
            let counts = text.split(separator: "\n").compactMap { Int($0) }
            #expect(counts.count == 6 && (counts.max() ?? 0) - (counts.min() ?? 0) < 6, "\(counts)")
        }
    }

    @Test func `the stage itself isn't supervised`() async throws {
        try await withFolder { folder in
            let script = "set -- $(cat /proc/$PPID/stat); grep -h ^Seccomp /proc/$4/task/*/status | sort -u > filters"
            let words = ["--exec", "--latency", "1ms", "--allow-vacuous", "--", "sh", "-c", script]
            let outcome = try await test(words, in: folder)
            #expect(outcome.status == 0, "\(outcome)")
            let text = try String(contentsOf: folder.appendingPathComponent("filters"), encoding: .utf8)
            let names = text.split(separator: "\n").map { $0.prefix { $0 != ":" } }
            // Where this runs below a filter, all threads have that one.
            #expect(!names.isEmpty && Set(names).count == names.count, "\(text)")
        }
    }

    @Test func `runs at the same time have faults of their own, and a scenario may ask for it`() async throws {
        try await withOrigin(size: 200_000) { origin in
            try await withFolder { folder in
                let scenario = """
                    { "name": "cuts", "exec": true, "jobs": 3, "seeds": "1..3",
                      "profiles": [ { "name": "cut", "faults": [ { "kind": "cut", "at": "64 KiB", "stream": "downstream" } ] } ],
                      "command": [ "sh", "-c", "curl -s -o /dev/null http://\(origin)/file.bin; test $? = 56" ],
                      "expect": [ "faults(cut) == 1", "bytes(downstream) == 64 KiB" ] }
                    """
                try Data(scenario.utf8).write(to: folder.appendingPathComponent("cuts.json"))
                let outcome = try await test(["./cuts.json"], in: folder)
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.lines.filter { $0.hasPrefix("pass  cut") }.count == 3, "\(outcome.output)")
                let spared = try await test(["./cuts.json", "--except", origin], in: folder)
                #expect(spared.status == 1, "\(spared)")
            }
        }
    }

    @Test func `faults are shrunk by the targets of connections, whatever the order of these`() async throws {
        try await withOrigin(size: 60_000) { first in
            try await withOrigin(size: 60_000) { second in
                try await withFolder { folder in
                    let fault = #"{ "kind": "cut", "at": "20 KB", "when": { "host": "\#(second)" } }"#
                    let profile = #"{ "name": "one", "faults": [ \#(fault) ] }"#
                    try Data(profile.utf8).write(to: folder.appendingPathComponent("one.json"))
                    let script = """
                        echo >> runs
                        [ $(($(wc -l < runs) % 2)) = 0 ] && curl -s -o got http://$0/file.bin
                        curl -s -o got http://$1/file.bin; code=$?
                        [ $(($(wc -l < runs) % 2)) = 0 ] || curl -s -o got http://$0/file.bin
                        exit $code
                        """
                    let words = ["--exec", "--profile", "one.json", "--shrink", "--", "sh", "-c", script]
                    let outcome = try await test(words + [first, second], in: folder)
                    #expect(outcome.status == 1)
                    #expect(outcome.output.contains("1 fault, which can't be left out"), "\(outcome)")
                }
            }
        }
    }

    @Test(arguments: [
        (["--upstream", "a:1", "--exec"], "don't go together"),
        (["--upstream", "a:1", "--only", ":1"], "is for --exec"),
        ([], "--exec takes every connection"),
    ])
    func `wrong words are exit 2`(options: [String], words: String) async throws {
        try await withFolder { folder in
            let outcome = try await test(options + ["--latency", "1ms", "--", "true"], in: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
        }
    }

    @Test func `a stage inside squall exec is refused`() async throws {
        try await withFolder { folder in
            let words = ["exec", "--latency", "1ms", "--", Programs.squall.path, "test", "--exec", "--latency", "1ms"]
            let outcome = try await squall(words + ["--", "true"], folder: folder)
            #expect(outcome.status == 125)
            #expect(outcome.errors.contains("another supervisor"), "\(outcome.errors)")
        }
    }
}
