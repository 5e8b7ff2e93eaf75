import Foundation
import Glibc
import Testing

/// `squall shrink`: the smallest list of faults with which a command still fails.
@Suite(.timeLimit(.minutes(5))) struct ShrinkTests {
    /// Forty faults: a stall and a cut on each of twenty connections.
    private static let forty: String = {
        let faults = (1...20).map { number in
            """
            { "kind": "stall", "stream": "downstream", "at": "\(number) KB", "for": "1 ms",
              "when": { "connection": \(number) } },
            { "kind": "cut", "stream": "downstream", "at": "\(20 + number) KB", "when": { "connection": \(number) } }
            """
        }
        return #"{ "name": "forty", "faults": [ \#(faults.joined(separator: ",\n")) ] }"#
    }()

    /// A client that fetches the file twenty times and fails when two of its responses are cut.
    private static let client = """
        here=$(mktemp -d)
        curl -s -H 'Connection: close' -o "$here/#1" "http://$1/file.bin?[1-20]"
        [ "$(stat -c %s "$here/7")" -lt 60000 ] && [ "$(stat -c %s "$here/13")" -lt 60000 ]
        bug=$?
        rm -r "$here"
        [ $bug -ne 0 ]
        """

    /// Records the journal of the client's first run, then runs `body` in its folder.
    private func withJournal(_ body: (URL, String) async throws -> Void) async throws {
        try await withFolder { folder in
            try Data(ShrinkTests.client.utf8).write(to: folder.appendingPathComponent("client.sh"))
            try await withOrigin(size: 60_000) { origin in
                let journal = folder.appendingPathComponent("journal.jsonl").path
                try await withProxy(ShrinkTests.forty, to: origin, ["--journal", journal]) { proxy, address in
                    let script = folder.appendingPathComponent("client.sh").path
                    let first = try await run("sh", [script, address])
                    #expect(first.status == 1, "the bug shows")
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                try await body(folder, origin)
            }
        }
    }

    @Test func `a planted bug among 40 faults is shrunk to the two that it takes`() async throws {
        try await withJournal { folder, origin in
            #expect(try journal(at: folder.appendingPathComponent("journal.jsonl")).count == 40)
            let outcome = try await squall(words: "shrink journal.jsonl -- sh client.sh {proxy}", folder: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("40 faults shrunk to 2 in "))
            #expect(outcome.output.contains("connection 7, downstream: "))
            #expect(outcome.output.contains("connection 13, downstream: "))
            let left = try journal(at: folder.appendingPathComponent("shrunk.jsonl"))
            #expect(left.map(\.connection) == [7, 13])
            #expect(left.map(\.offset) == [27_000, 33_000])
            // The written profile is valid and makes the client fail.
            let checked = try await squall("check", "shrunk.json", folder: folder)
            #expect(checked.status == 0)
            let options = folder.appendingPathComponent("shrunk.json").path
            try await withProxy(options, to: origin) { _, address in
                let script = folder.appendingPathComponent("client.sh").path
                let again = try await run("sh", [script, address])
                #expect(again.status == 1)
            }
        }
    }

    @Test func `a command that passes, one that always fails, and one that isn't there are told apart`() async throws {
        try await withJournal { folder, _ in
            let passes = try await squall("shrink", "journal.jsonl", "--", "true", folder: folder)
            #expect(passes.status == 1)
            #expect(passes.errors == "squall: the command doesn't fail with all 40 faults of the journal\n")
            let fails = try await squall("shrink", "journal.jsonl", "--", "false", folder: folder)
            #expect(fails.status == 1)
            #expect(fails.errors == "squall: the command fails without a fault as well\n")
            let missing = try await squall("shrink", "journal.jsonl", "--", "./nothing", folder: folder)
            #expect(missing.status == 2)
            #expect(missing.errors.contains("can't run “./nothing”"))
            let hangs = try await squall(
                words: "shrink journal.jsonl --patience \("100 ms") -- sleep 60",
                folder: folder
            )
            #expect(hangs.errors.contains("fails without a fault"), "a command that doesn't end has failed")
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("shrunk.json").path))
        }
    }

    @Test func `the runs are bounded, and the best so far is written`() async throws {
        try await withJournal { folder, _ in
            let arguments = [
                "shrink", "journal.jsonl", "--runs", "4", "--output", "best", "--", "sh", "client.sh", "{proxy}",
            ]
            let outcome = try await squall(arguments, folder: folder)
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("40 faults shrunk to "))
            #expect(outcome.output.contains(" in 4 runs"))
            #expect(outcome.errors == "squall: those were all the runs allowed; a smaller list may do (--runs)\n")
            let script = "echo run >> runs; sh client.sh $SQUALL_PROXY"
            for runs in [2, 5] {
                try? FileManager.default.removeItem(at: folder.appendingPathComponent("runs"))
                _ = try await squall(words: "shrink journal.jsonl --runs \(runs) -- sh -c \(script)", folder: folder)
                let told = try String(contentsOf: folder.appendingPathComponent("runs"), encoding: .utf8)
                #expect(told.split(separator: "\n").count == runs, "the last one counts as well")
            }
            let checked = try await squall("check", "best.json", folder: folder)
            #expect(checked.status == 0)
        }
    }

    @Test func `a list that no profile can hold is told and not written`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("journal.jsonl")
            let profile = #"{ "name": "x", "faults": [ { "kind": "cut", "at": "1 KB" } ] }"#
            try await withProxy(profile, to: "127.0.0.1:1", ["--journal", file.path]) { proxy, _ in
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            let lines = (1...300).map { number in
                #"{"connection":\#(number),"direction":"upstream","fault":"cut","offset":1000,"proxy":"proxy","#
                    + #""time":"2026-11-21T14:20:15.123Z","what":"resets"}"#
            }
            let header = try String(contentsOf: file, encoding: .utf8)
            try Data((header + lines.joined(separator: "\n") + "\n").utf8).write(to: file)
            let outcome = try await squall("shrink", "journal.jsonl", "--runs", "2", "--", "false", folder: folder)
            #expect(outcome.status == 1)
            #expect(
                outcome.errors
                    == "squall: 300 faults are left, more than the 256 of a profile: nothing was written (--runs)\n"
            )
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["journal.jsonl"])
        }
    }

    /// A client that connects, fetches the file over two other connections, and then over the first. Its first bytes don't
    /// have the name of the server.
    private static let rawClient = """
        import socket, sys
        host, port = sys.argv[1].rsplit(":", 1)
        def connected(): return socket.create_connection((host, int(port)))
        def fetched(client):
            client.sendall(b"GET /file.bin HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
            text = b""
            while True:
                try: block = client.recv(65536)
                except OSError: block = b""
                if not block: return text
                text += block
        first = connected()
        texts = [fetched(connected()), fetched(connected()), fetched(first)]
        """

    private func writeClient(failing condition: String, in folder: URL) throws {
        let text = "\(ShrinkTests.rawClient)\nsys.exit(1 if \(condition) else 0)\n"
        try Data(text.utf8).write(to: folder.appendingPathComponent("client.py"))
    }

    @Test func `a journal of exec is shrunk and replayed through a proxy with one upstream`() async throws {
        try await withFolder { folder in
            try writeClient(failing: "len(texts[1]) < 60_000", in: folder)
            let profile = #"{ "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "at": "10 KB" } ] }"#
            try Data(profile.utf8).write(to: folder.appendingPathComponent("x.json"))
            try await withOrigin(size: 60_000) { origin in
                let recorded = try await squall(
                    words: "exec ./x.json --journal journal.jsonl -- python3 client.py \(origin)",
                    folder: folder
                )
                #expect(recorded.status == 1, "\(recorded)")
                let upstream = ["--upstream", origin]
                let words = ["shrink", "journal.jsonl"] + upstream + ["--", "python3", "client.py", "{proxy}"]
                let outcome = try await squall(words, folder: folder)
                #expect(outcome.status == 0, "\(outcome)")
                #expect(outcome.lines.contains("  connection 3, downstream: cut resets at 10,000"), "\(outcome)")
                let journal = folder.appendingPathComponent("journal.jsonl").path
                try await withChild(Programs.squall, ["replay", journal] + upstream) { proxy in
                    let address = try await address(in: proxy.line(with: "ready: "))
                    let client = folder.appendingPathComponent("client.py").path
                    let outcome = try await run("python3", [client, address])
                    #expect(outcome.status == 1)
                }
            }
        }
    }

    @Test func `a sorted journal is shrunk in the order of its times`() async throws {
        let profile = """
            { "name": "x", "faults": [
                { "kind": "cut", "name": "A", "stream": "downstream", "at": "10 KiB", "how": "close",
                  "when": { "connection": "1..2" } },
                { "kind": "http", "name": "B", "answer": { "status": 503 }, "when": { "after": "A", "connection": 3 } } ] }
            """
        try await withFolder { folder in
            let condition = "len(texts[0]) < 60_000 and len(texts[2]) < 60_000 and b' 503 ' in texts[1][:20]"
            try writeClient(failing: condition, in: folder)
            try await withOrigin(size: 60_000) { origin in
                let journal = folder.appendingPathComponent("journal.jsonl").path
                try await withProxy(profile, to: origin, ["--journal", journal]) { proxy, address in
                    let client = folder.appendingPathComponent("client.py").path
                    let outcome = try await run("python3", [client, address])
                    #expect(outcome.status == 1)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                func shrink(_ options: [String]) async throws -> Outcome {
                    let sorted = try await squall(["journal", "--sort", journal] + options)
                    try Data(sorted.output.utf8).write(to: folder.appendingPathComponent("sorted.jsonl"))
                    return try await squall(words: "shrink sorted.jsonl -- python3 client.py {proxy}", folder: folder)
                }
                let outcome = try await shrink([])
                #expect(outcome.status == 0 && outcome.output.contains("3 faults shrunk to 3 in "), "\(outcome)")
                let unknown = try await shrink(["--no-times"])
                #expect(unknown.status == 1)
                #expect(unknown.errors.contains("the fault “B” waits for “A”, of which several events"), "\(unknown)")
            }
        }
    }

    @Test func `the command is told of the proxy by its environment too`() async throws {
        try await withJournal { folder, _ in
            let script = """
                proxy=kept; [ "${proxy}" = kept ] && [ {proxy} = "$SQUALL_PROXY" ] || exit 1
                case "$SQUALL_PROXY" in 127.0.0.1:*) exit 0;; esac; exit 1
                """
            let outcome = try await squall("shrink", "journal.jsonl", "--", "sh", "-c", script, folder: folder)
            #expect(outcome.errors.contains("the command doesn't fail"))
        }
    }
}
