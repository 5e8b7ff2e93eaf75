import Foundation
import Testing

/// The lines and the files of `squall exec` about a run.
@Suite(.timeLimit(.minutes(5))) struct ExecOutputTests {
    @Test func `a line says that no connection was to the chosen targets`() async throws {
        let words = "the command opened no TCP connection that --only and --except choose"
        try await withOrigin(size: 10) { origin in
            let curl = ["--", "curl", "-sS", "-o", "/dev/null", "http://\(origin)/file.bin"]
            let missed = try await squall(["exec", "--latency", "1ms", "--only", ":1"] + curl)
            #expect(missed.status == 0 && missed.errors == "squall: \(words)\n", "\(missed)")
            #expect(try await squall(["exec", "--latency", "1ms", "--only", origin] + curl).complaints.isEmpty)
        }
        // Refused by a fault, and cut off before an answer.
        for fault in ["--outage=0s..1h=refuse", "--outage=0s..1h"] {
            let curl = ["--", "curl", "-s", "-m", "1", "http://127.0.0.1:9/"]
            let refused = try await squall(["exec", fault, "--seed", "1", "--only", ":9"] + curl)
            #expect(refused.status != 0 && refused.complaints.isEmpty, "\(refused)")
        }
        #expect(try await squall("exec", "--latency", "1ms", "--", "true").complaints.isEmpty)
    }

    @Test func `a command that can't be run leaves the files of the last run as they are`() async throws {
        try await withFolder { folder in
            let files = ["journal", "capture"].map { folder.appendingPathComponent($0) }
            func run(_ command: String, _ status: Int32) async throws -> [String] {
                for file in files { try Data("old".utf8).write(to: file) }
                let words = ["exec", "--latency", "1ms", "--journal", "journal", "--pcap", "capture", "--", command]
                let outcome = try await squall(words, folder: folder)
                #expect(outcome.status == status, "\(outcome)")
                return try files.map { String(decoding: try Data(contentsOf: $0).prefix(3), as: UTF8.self) }
            }
            for (command, status) in [("no-such-command", Int32(127)), ("/etc/passwd", 126)] {
                let kept = try await run(command, status)
                #expect(kept == ["old", "old"])
            }
            let written = try await run("true", 0)
            #expect(written == ["{\"d", "\n\r\r"])
        }
    }

    @Test func `a journal begins with the first connection, while the command runs`() async throws {
        try await withOrigin(size: 10) { origin in
            try await withFolder { folder in
                let script = """
                    curl -s -o /dev/null http://\(origin)/file.bin
                    until grep -q '"event":"connect"' journal; do sleep 0.05; done
                    """
                let words = ["exec", "--latency", "1ms", "--journal", "journal", "--", "sh", "-c", script]
                let outcome = try await squall(words, folder: folder)
                #expect(outcome.status == 0, "\(outcome)")
            }
        }
    }

    @Test func `a command that fails after a fault tells the seed that was drawn`() async throws {
        try await withOrigin(size: 1_000_000) { origin in
            try await withFolder { folder in
                func run(_ options: String...) async throws -> String {
                    let curl = ["--", "curl", "-s", "-o", "/dev/null", "http://\(origin)/file.bin"]
                    return try await squall(["exec"] + options + curl, folder: folder).errors
                }
                let told = try await run("--cut-at", "64KiB")
                let line = /squall: the seed of this run was ([0-9]+): --seed ([0-9]+) repeats its draws\n/
                let match = try #require(told.wholeMatch(of: line), "\(told)")
                #expect(match.1 == match.2)
                #expect(try await run("--cut-at", "64KiB", "--seed", "7").isEmpty)
                #expect(try await run("--cut-at", "64KiB", "--journal", "journal").isEmpty)
                #expect(try await run("--latency", "1ms").isEmpty)
            }
        }
    }

    @Test func `a limit of open files that is too low is an error before anything is opened`() async throws {
        for (limit, options) in [(40, ""), (43, ""), (55, "--page --port 0")] {
            let script = "ulimit -n \(limit); exec \"$0\" exec --latency 1ms \(options) -- true"
            let outcome = try await run("sh", ["-c", script, Programs.squall.path])
            #expect(outcome.status == 1, "\(outcome)")
            let told = "the limit of open files is \(limit), and this command needs "
            #expect(outcome.errors.contains(told), "\(outcome)")
        }
    }

    @Test func `a journal of exec is shrunk through {proxy}`() async throws {
        try await withFolder { folder in
            let words = ["exec", "--latency", "1ms", "--journal", "journal", "--", "true"]
            #expect(try await squall(words, folder: folder).status == 0)
            for (command, remedy) in [
                (["shrink", "journal", "--", "true"], "have the command connect to {proxy} in its place"),
                (["replay", "journal"], "or the command of squall exec behind --"),
            ] {
                let outcome = try await squall(command, folder: folder)
                #expect(outcome.status == 2, "\(outcome)")
                #expect(outcome.errors.contains("the clients of the journal's proxy named the hosts: "), "\(outcome)")
                #expect(outcome.errors.contains(remedy), "\(outcome)")
            }
        }
    }
}
