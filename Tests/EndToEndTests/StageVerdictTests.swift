import Foundation
import Testing

/// What `squall test` says of runs that show little or nothing.
@Suite(.timeLimit(.minutes(5))) struct StageVerdictTests {
    private static let unavailable =
        #"{ "name": "down", "faults": [ { "kind": "http", "answer": { "status": 503 } } ] }"#

    /// A profile whose first phase lasts an hour.
    private static let late = """
        { "name": "late", "phases": [
            { "name": "calm", "for": "1 h" },
            { "name": "handover", "for": "1 s", "faults": [ { "kind": "outage", "how": "silence" } ] },
            { "name": "calm again", "for": "1 h" } ],
          "faults": [ { "kind": "cut", "at": "64 KiB", "stream": "downstream" } ] }
        """

    /// Runs `squall test` with a profile in a file of a new folder.
    private func test(_ profile: String, _ words: [String], in folder: URL) async throws -> Outcome {
        try Data(profile.utf8).write(to: folder.appendingPathComponent("profile.json"))
        let arguments = ["test", "--profile", "./profile.json"] + words
        return try await squall(arguments, folder: folder)
    }

    @Test(arguments: [["--expect", "exit == 0"], ["--expect", "faults(http) >= 1"], ["--allow-vacuous"]])
    func `a client behind https with faults of HTTP only is never a pass`(options: [String]) async throws {
        try await withOrigin(size: 1_000, isSecure: true) { origin in
            let fetch = ["--", "curl", "-sSk", "-o", "/dev/null", "https://{proxy}/file.bin"]
            let words = ["--upstream", origin.address] + options + fetch
            let outcome = try await test(StageVerdictTests.unavailable, words, in: origin.folder)
            #expect(outcome.status == (options.contains("--allow-vacuous") ? 0 : 1), "\(outcome)")
            #expect(!outcome.lines.contains { $0.hasPrefix("pass ") }, "\(outcome)")
            #expect(outcome.output.contains("the stream is TLS, so faults of HTTP messages can't act on it"))
            #expect(outcome.output.contains("exit 0, 1 connection, 0 faults"))
        }
    }

    @Test func `a stream that isn't HTTP is told once, whatever the number of runs and connections`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let profile = """
                    { "name": "both", "faults": [ { "kind": "latency", "delay": "1 ms" },
                        { "kind": "http", "answer": { "status": 503 } } ] }
                    """
                let script = """
                    import socket, sys
                    host, port = sys.argv[1].split(":")
                    for _ in range(2):
                        with socket.create_connection((host, int(port))) as client:
                            client.sendall(b"EHLO a\\r\\n\\r\\n")
                            client.recv(1)
                    """
                let words = ["--upstream", origin, "--seed", "1..2", "--", "python3", "-c", script, "{proxy}"]
                let outcome = try await test(profile, words, in: folder)
                let said = outcome.lines.filter { $0.contains("the stream isn't HTTP/1, so faults of HTTP messages") }
                #expect(said.count == 1, "\(outcome)")
                #expect(outcome.lines.filter { $0.hasPrefix("pass  both, seed ") }.count == 2, "\(outcome)")
                #expect(outcome.lines.filter { $0 == "      never: http" }.count == 2, "\(outcome)")
            }
        }
    }

    @Test func `a run in which no fault acted is called empty from the start, with what came closest`() async throws {
        try await withOrigin(size: 40_000) { origin in
            try await withFolder { folder in
                let words = [
                    "--upstream", origin, "--junit", "report.xml", "--", "curl", "-sS", "-o", "/dev/null",
                    "http://{proxy}/file.bin",
                ]
                let outcome = try await test(StageVerdictTests.late, words, in: folder)
                #expect(outcome.status == 1)
                #expect(outcome.errors == "squall: the run is empty\n")
                let first = try #require(outcome.lines.first)
                #expect(first.hasPrefix("empty late, seed 1  "), "\(outcome)")
                let nothing = "      no fault of the profile acted, so the run shows nothing: "
                #expect(outcome.lines[1].hasPrefix("\(nothing)cut acts at 64.0 KiB, the run moved 39."), "\(outcome)")
                #expect(outcome.lines[2] == "      met 1 of 3 phases; never: cut, handover", "\(outcome)")
                #expect(!outcome.output.contains("pass") && !outcome.output.contains("FAIL"))
                let report = try String(contentsOf: folder.appendingPathComponent("report.xml"), encoding: .utf8)
                #expect(report.contains(#"type="squall.empty""#))
                #expect(report.contains(#"name="coverage" value="met 1 of 3 phases; never: cut, handover"/>"#))
            }
        }
    }

    @Test func `a run that doesn't meet every phase fails where phases are required`() async throws {
        try await withOrigin(size: 100_000) { origin in
            try await withFolder { folder in
                let fetch = ["--", "sh", "-c", "curl -s -o /dev/null http://{proxy}/file.bin; exit 0"]
                let loose = try await test(StageVerdictTests.late, ["--upstream", origin] + fetch, in: folder)
                #expect(loose.status == 0, "\(loose)")
                #expect(loose.output.contains("      met 1 of 3 phases; never: handover"), "\(loose)")
                let words = ["--upstream", origin, "--require-phases"] + fetch
                let strict = try await test(StageVerdictTests.late, words, in: folder)
                #expect(strict.status == 1)
                let reason = "      the run met 1 of 3 phases: not handover, calm again (handover begins at 1 h 0 min, "
                #expect(strict.lines.contains { $0.hasPrefix(reason) }, "\(strict)")
                #expect(strict.output.contains("--require-phases -- sh -c "), "the line that repeats it has the option")
            }
        }
    }

    @Test func `a dead upstream is named as such, in front of what the command made of it`() async throws {
        try await withFolder { folder in
            let fetch = ["curl -sS -o /dev/null http://{proxy}/"]
            let words = ["--upstream", "app=127.0.0.1:9", "--", "sh", "-c"]
            let profile = #"{ "name": "slow", "faults": [ { "kind": "latency", "delay": "1 ms" } ] }"#
            let command = fetch[0].replacingOccurrences(of: "{proxy}", with: "{app}")
            let failing = try await test(profile, words + [command], in: folder)
            #expect(failing.status == 1)
            let cause = "the proxy “app” can't reach its upstream 127.0.0.1:9: Connection refused (connect, errno 111)"
            let lines = failing.lines.map { $0.trimmingCharacters(in: .whitespaces) }
            let place = try #require(lines.firstIndex(of: cause), "\(failing)")
            #expect(lines[place + 1].hasPrefix("the command exited with "), "\(failing)")
            #expect(
                failing.output.contains(
                    "The command fails without faults as well, with seed 1: \(cause); the command exited"
                )
            )
            let careless = try await test(profile, words + ["\(command); exit 0"], in: folder)
            #expect(careless.status == 1)
            #expect(careless.lines.first?.hasPrefix("empty slow, seed 1  ") == true, "\(careless)")
            #expect(careless.output.contains("no connection reached a server, so the run shows nothing: \(cause)"))
        }
    }
}
