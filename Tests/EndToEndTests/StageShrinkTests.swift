import Foundation
import Testing

/// `squall test --shrink`.
@Suite(.timeLimit(.minutes(5))) struct StageShrinkTests {
    @Test func `the fewest faults with which a run fails are found and written`() async throws {
        try await withOrigin(size: 60_000) { origin in
            try await withFolder { folder in
                let faults = (1...6).map { number in
                    """
                    { "kind": "cut", "stream": "downstream", "at": "\(number) KB", "when": { "connection": \(number) } },
                    { "kind": "latency", "delay": "1 ms", "when": { "connection": \(number) } }
                    """
                }
                let profile = #"{ "name": "many", "faults": [ \#(faults.joined(separator: ","))  ] }"#
                try Data(profile.utf8).write(to: folder.appendingPathComponent("many.json"))
                // Fails when the fourth connection is cut.
                let script =
                    "for i in 1 2 3 4 5 6; do curl -s -o got http://$1/file.bin; "
                    + "code=$?; if [ $i = 4 ]; then last=$code; fi; done; exit $last"
                let outcome = try await squall(
                    words: """
                        test --profile ./many.json --upstream \(origin) --shrink --artifacts found
                        -- sh -c \(script) - {proxy}
                        """,
                    folder: folder
                )
                #expect(outcome.status == 1)
                #expect(outcome.output.contains("faults shrunk to 1 in "), "\(outcome)")
                let found = folder.appendingPathComponent("found")
                let shrunk = found.appendingPathComponent("many-seed-1-shrunk.json").path
                let check = try await squall("check", shrunk)
                #expect(check.status == 0, "\(check)")
                let again = try await squall(
                    words: "test --profile \(shrunk) --upstream \(origin) -- sh -c \(script) - {proxy}",
                    folder: folder
                )
                #expect(again.status == 1)
                let names = try FileManager.default.contentsOfDirectory(atPath: found.path).sorted()
                #expect(names == ["many-seed-1-shrunk.json", "many-seed-1.jsonl", "many-seed-1.log"])
                #expect(try journal(at: found.appendingPathComponent("many-seed-1.jsonl")).count >= 6)
            }
        }
    }

    @Test(arguments: [
        (["--expect", "faults >= 30"], "It failed by its count of faults, or by its phases: there is nothing to"),
        (["--require-phases"], "It failed by its count of faults, or by its phases: there is nothing to shrink."),
        (
            ["--cut-at", "10KB", "--expect", "exit == 0 || (exit == 75 && faults >= 1)"],
            "apart from those about faults: exit == 0 || (exit == 75 && faults >= 1)"
        ),
    ])
    func `what only the number of faults or phases fails isn't shrunk`(options: [String], note: String) async throws {
        try await withOrigin(size: 60_000) { origin in
            try await withFolder { folder in
                let profile = """
                    { "name": "late", "faults": [ { "kind": "latency", "delay": "1 ms" } ], "phases": [
                        { "name": "calm", "for": "1 h" }, { "name": "over", "for": "1 h" } ] }
                    """
                try Data(profile.utf8).write(to: folder.appendingPathComponent("late.json"))
                let arguments = ["test", "--profile", "late.json", "--upstream", origin, "--shrink"] + options
                let command = ["--", "sh", "-c", "curl -s -o got http://{proxy}/file.bin || exit 1"]
                let outcome = try await squall(arguments + command, folder: folder)
                #expect(outcome.status == 1 && outcome.output.contains(note), "\(outcome)")
                #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("shrunk.json").path))
            }
        }
    }

    @Test func `an interrupted --shrink writes what it has found`() async throws {
        try await withOrigin(size: 60_000) { origin in
            try await withFolder { folder in
                let faults = (1...4).map { number in
                    let condition = #""when": { "connection": \#(number) }"#
                    return #"{ "kind": "cut", "stream": "downstream", "at": "\#(number) KB", \#(condition) }"#
                }
                let profile = #"{ "name": "many", "faults": [ \#(faults.joined(separator: ",")) ] }"#
                try Data(profile.utf8).write(to: folder.appendingPathComponent("many.json"))
                // Fails when the first connection is cut. Its seventh run is that with one of two faults.
                let script = """
                    echo >> runs
                    if [ $(wc -l < runs) = 7 ]; then
                        read -r process name state squall rest < /proc/$PPID/stat; kill -INT $squall; sleep 60
                    fi
                    curl -s -o got http://$0/file.bin; code=$?
                    for i in 2 3 4; do curl -s -o got http://$0/file.bin; done
                    exit $code
                    """
                let outcome = try await squall(
                    words: "test --profile many.json --upstream \(origin) --shrink -- sh -c \(script) {proxy}",
                    folder: folder
                )
                #expect(outcome.status == 1)
                let found = "4 faults shrunk to 2 in 4 runs, and fewer may do: it was interrupted: shrunk.json"
                #expect(outcome.output.contains(found), "\(outcome)")
                #expect(try await squall("check", "shrunk.json", folder: folder).status == 0)
            }
        }
    }

    @Test func `what --shrink would overwrite or can't write is exit 2`() async throws {
        try await withFolder { folder in
            let place = folder.appendingPathComponent("shrunk.json")
            let profile = #"{ "name": "cut", "faults": [ { "kind": "cut", "at": "1 KB" } ] }"#
            try Data(profile.utf8).write(to: place)
            func shrink(_ profile: String) async throws -> Outcome {
                try await squall(
                    words: "test --profile \(profile) --upstream 127.0.0.1:9 --shrink -- true",
                    folder: folder
                )
            }
            let over = try await shrink("shrunk.json")
            #expect(over.status == 2 && over.output.isEmpty, "\(over)")
            #expect(over.errors.contains("the profile of --shrink would be written over “shrunk.json”"))
            try FileManager.default.removeItem(at: place)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: false)
            let blocked = try await shrink("slow-3g")
            #expect(blocked.status == 2 && blocked.output.isEmpty, "\(blocked)")
            #expect(blocked.errors.contains("can't write “shrunk.json”"))
        }
    }
}
