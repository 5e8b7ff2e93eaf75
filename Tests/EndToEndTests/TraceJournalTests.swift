import Foundation
import Glibc
import SquallProxy
import Testing

/// A journal of a run with a trace, whose file isn't embedded.
@Suite(.timeLimit(.minutes(5))) struct TraceJournalTests {
    private struct Header: Decodable {
        struct Trace: Decodable, Equatable {
            var digest: String
            var file: String
        }

        var digest: String
        var traces: [Trace]?
    }

    /// Runs `profile`, a path in `folder` or a name, and fetches a file through it.
    private func record(_ profile: String, to journal: URL, in folder: URL, _ origin: String) async throws {
        let arguments = [
            "run", profile, "--listen", "127.0.0.1:0", "--upstream", origin, "--journal", journal.path, "--seed", "7",
        ]
        try await withChild(Programs.squall, arguments, folder: folder) { child in
            let line = try await child.line(with: "ready: ")
            let address = String(try #require(line.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output)
            let curl = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
            #expect(curl.status == 0)
            child.signal(SIGINT)
            #expect(await child.finish().status == 0)
        }
    }

    private func header(of journal: URL) throws -> Header {
        let line = try #require(String(contentsOf: journal, encoding: .utf8).split(separator: "\n").first)
        return try #require(try decoded([String(line)], as: Header.self).first)
    }

    /// Checks the journal in another folder.
    private func shrink(_ journal: URL) async throws -> Outcome {
        try await withFolder { other in try await squall("shrink", journal.path, "--", "true", folder: other) }
    }

    @Test func `is replayed from any folder, as long as the trace is the one of the run`() async throws {
        try await withFolder { folder in
            let trace = folder.appendingPathComponent("link.trace")
            try Data("1\n5\n10\n".utf8).write(to: trace)
            let text = #"{ "name": "x", "faults": [ { "kind": "trace", "file": "link.trace" } ] }"#
            try Data(text.utf8).write(to: folder.appendingPathComponent("profile.json"))
            let journal = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 20_000) { origin in
                try await record("./profile.json", to: journal, in: folder, origin)
            }
            let sums = try await run("sha256sum", [trace.path])
            let entry = try #require(try header(of: journal).traces?.first)
            #expect(sums.output.hasPrefix(entry.digest), "the sum of a file with a line for each time")
            #expect(entry.file.hasPrefix("/"))
            #expect(entry.file.hasSuffix("/link.trace") && !entry.file.contains("/./"))
            let passes = try await shrink(journal)
            #expect(passes.errors == "squall: the command doesn't fail with the fault of the journal\n")
            try await withFolder { other in
                let again = other.appendingPathComponent("again.jsonl")
                let arguments = ["replay", journal.path, "--journal", again.path]
                try await withChild(Programs.squall, arguments, folder: other) { child in
                    _ = try await child.line(with: "ready: ")
                    child.signal(SIGINT)
                    #expect(await child.finish().status == 0)
                }
                #expect(try header(of: again).traces == [entry])
            }

            try Data("1\n5\n11\n".utf8).write(to: trace)
            let edited = try await shrink(journal)
            #expect(edited.status == 2)
            #expect(
                edited.errors.hasPrefix("\(journal.path):1: the trace “\(entry.file)” isn't what it was in the run")
            )
            #expect(edited.errorLines.count == 1)
            try FileManager.default.removeItem(at: trace)
            let gone = try await shrink(journal)
            #expect(gone.status == 2)
            #expect(gone.errors.contains("can't read the trace “\(entry.file)”"), "\(gone.errors)")
            #expect(gone.errors.contains("put the file of the journal's run there"), "\(gone.errors)")
        }
    }

    @Test func `of a library is replayed with the profile that it was made with`() async throws {
        try await withFolder { folder in
            let trace = folder.appendingPathComponent("link.trace")
            try Data("1\n5\n10\n".utf8).write(to: trace)
            let text = #"{ "name": "x", "faults": [ { "kind": "trace", "file": "./link.trace" } ] }"#
            let profile = folder.appendingPathComponent("profile.json")
            try Data(text.utf8).write(to: profile)
            let proxy = try await FaultProxy.start(.profile(profile.path), to: "127.0.0.1:9")
            let journal = folder.appendingPathComponent("journal.jsonl")
            try Data(await proxy.journal.utf8).write(to: journal)
            await proxy.stop()
            let entry = try #require(try header(of: journal).traces?.first)
            #expect(entry.file.hasSuffix("/link.trace") && !entry.file.contains("/./"))
            let again = folder.appendingPathComponent("again.jsonl")
            for profiles in [[], ["--profile", profile.path]] {
                let arguments = ["replay", journal.path, "--journal", again.path, "--listen", "127.0.0.1:0"] + profiles
                try await withChild(Programs.squall, arguments) { child in
                    _ = try await child.line(with: "ready: ")
                    child.signal(SIGINT)
                    #expect(await child.finish().status == 0)
                }
                #expect(try header(of: again).traces == [entry])
            }
        }
    }

    @Test func `without the digest of its trace is refused`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 20_000) { origin in
                try await record("bufferbloat", to: journal, in: folder, origin)
            }
            let text = try String(contentsOf: journal, encoding: .utf8).replacing(/"traces":\[[^\]]*\],/, with: "")
            try Data(text.utf8).write(to: journal)
            let outcome = try await shrink(journal)
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains(":1: “traces” has no digest of the trace “traces/"), "\(outcome.errors)")
        }
    }

    @Test func `of a shipped profile is the same wherever the profiles lie`() async throws {
        try await withFolder { folder in
            let profiles = folder.appendingPathComponent("share")
            try FileManager.default.copyItem(at: Repository.root.appendingPathComponent("Profiles"), to: profiles)
            let journal = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 20_000) { origin in
                try await record("bufferbloat", to: journal, in: folder, origin)
            }
            let traces = try #require(try header(of: journal).traces)
            #expect(traces.count == 1)
            #expect(traces.allSatisfy { $0.file.hasPrefix("traces/") })
            let arguments = ["shrink", journal.path, "--", "true"]
            let elsewhere = try await squall(arguments, environment: ["SQUALL_PROFILES": "share"], folder: folder)
            #expect(elsewhere.errors.contains("doesn't fail with all"), "\(elsewhere.errors)")
            let given = ["replay", journal.path, "--profile", "bufferbloat"]
            try await withChild(Programs.squall, given) { child in _ = try await child.line(with: "ready: ") }
        }
    }
}
