import Foundation
import Glibc
import Testing

/// `squall test`: commands behind profiles and seeds, judged.
@Suite(.timeLimit(.minutes(5))) struct StageTests {
    /// A client that goes on after a broken connection. The file on the server changes meanwhile, which it only notices when
    /// it sends If-Range.
    private static let client = """
        import http.client, os, sys
        address, mended = sys.argv[1], sys.argv[2] == "mended"
        def serve(byte):
            with open("served/next", "wb") as file: file.write(byte * 300_000)
            os.replace("served/next", "served/file.bin")
        serve(b"a")
        open("out.bin", "wb").close()
        tag, whole = None, False
        for attempt in range(6):
            have = os.path.getsize("out.bin")
            fields = {"Range": f"bytes={have}-"} if have else {}
            if have and mended: fields["If-Range"] = tag
            connection = http.client.HTTPConnection(address, timeout=20)
            try:
                connection.request("GET", "/file.bin", headers=fields)
                response = connection.getresponse()
                tag = response.getheader("ETag")
                with open("out.bin", "ab" if response.status == 206 else "wb") as file:
                    while block := response.read1(4096): file.write(block)
                whole = os.path.getsize("out.bin") == 300_000
            except (ConnectionError, http.client.HTTPException): pass
            connection.close()
            if whole: break
            if attempt == 0: serve(b"b")
        sys.exit(0 if whole else 1)
        """

    private static let equal = #"sha256("out.bin") == sha256("served/file.bin")"#

    /// Runs `body` in a folder with the client and the served folder, and the address of a server of that.
    private func withClient(_ body: (URL, String) async throws -> Void) async throws {
        try await withFolder { folder in
            try Data(StageTests.client.utf8).write(to: folder.appendingPathComponent("client.py"))
            let served = folder.appendingPathComponent("served")
            try FileManager.default.createDirectory(at: served, withIntermediateDirectories: false)
            try await withChild(Programs.squall, ["origin", served.path]) { origin in
                try await body(folder, address(in: origin.line(with: "ready: ")))
            }
        }
    }

    @Test func `a client that resumes without If-Range fails, and so does the replay line, 10 of 10`() async throws {
        try await withClient { folder, origin in
            let outcome = try await squall(
                words: """
                    test --profile first-two-fail --upstream \(origin) --seed 1..2 --expect \(StageTests.equal)
                    --junit report.xml -- python3 client.py {proxy} broken
                    """,
                folder: folder
            )
            #expect(outcome.status == 1)
            #expect(outcome.errors == "squall: 2 of 2 runs failed\n")
            #expect(outcome.output.contains("The command passes without faults, with seed 1."))
            let lines = outcome.lines.filter { $0.contains("repeat it: ") }
            #expect(lines.count == 2)
            let line = try #require(lines.last?.split(separator: "repeat it: ").last)
            #expect(line.contains("--seed 2"))
            // As a shell reads it, with the built command in front.
            let path = "PATH=\(Programs.squall.deletingLastPathComponent().path):$PATH"
            for _ in 0..<10 {
                let again = try await withChild(Programs.find("sh"), ["-c", "\(path) \(line)"], folder: folder) {
                    await $0.finish()
                }
                #expect(again.status == 1)
                #expect(again.output.contains("\(StageTests.equal) doesn't hold"), "\(again)")
            }
            let check = """
                import xml.etree.ElementTree as tree
                cases = list(tree.parse("report.xml").getroot().iter("testcase"))
                print(len(cases), sum(case.find("failure") is not None for case in cases))
                """
            let parsed = try await withChild(Programs.find("python3"), ["-c", check], folder: folder) {
                await $0.finish()
            }
            #expect(parsed.output == "2 2\n", "\(parsed)")
        }
    }

    @Test func `the mended client passes`() async throws {
        try await withClient { folder, origin in
            let outcome = try await squall(
                words: """
                    test --profile first-two-fail --upstream \(origin) --seed 1..3 --expect \(StageTests.equal)
                    --expect \("faults(cut) == 2 && connections == 3") -- python3 client.py {proxy} mended
                    """,
                folder: folder
            )
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.lines.filter { $0.hasPrefix("pass  first-two-fail, seed ") }.count == 3)
            #expect(outcome.lines.last?.hasPrefix("passed: 3 runs in ") == true)
        }
    }

    @Test func `figures of a resumed download are counted`() async throws {
        try await withOrigin(size: 4_000_000) { origin in
            try await withFolder { folder in
                let counts =
                    #"resumptions == 2 && connections == 3 && faults == 2 && sha256("{folder}/file.bin") != "00""#
                let measures = "waste < 5 % && time < 60 s && bytes(downstream) >= 400 KB && bytes(upstream) < 10 KB"
                let outcome = try await squall(
                    words: """
                        test --profile first-two-fail --upstream \(origin) --jobs 2 --seed 1..2
                        --expect \(counts) --expect \(measures)
                        -- \(Programs.squall.path) get http://{proxy}/file.bin --output {folder}/file.bin
                        """,
                    folder: folder
                )
                #expect(outcome.status == 0, "\(outcome)")
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            }
        }
    }

    @Test func `a run whose time is over before its command has started ends, and is reported`() async throws {
        try await withOrigin(size: 1_000) { origin in
            for limit in ["1ns", "1us", "1ms"] {
                let outcome = try await squall(
                    words: "test --latency 1ms --upstream \(origin) --time-limit \(limit) -- sleep 60"
                )
                #expect(outcome.status == 1 && outcome.output.contains("time limit"), "\(outcome)")
            }
        }
    }

    @Test func `what depends on faults isn't expected of the run without them`() async throws {
        try await withOrigin(size: 300_000) { origin in
            try await withFolder { folder in
                let profile = """
                    { "name": "cut", "faults": [
                        { "kind": "cut", "stream": "downstream", "at": "100 KiB", "when": { "connection": 1 } } ] }
                    """
                try Data(profile.utf8).write(to: folder.appendingPathComponent("cut.json"))
                let command = [Programs.squall.path, "get", "http://{proxy}/file.bin", "--output", "{folder}/f"]
                for expected in [["connections == 2", "bytes > 300 KB"], ["time < 60 s"]] {
                    let conditions = (expected + ["waste < 50 %"]).flatMap { ["--expect", $0] }
                    let arguments = ["test", "--profile", "cut.json", "--upstream", origin] + conditions
                    let outcome = try await squall(arguments + ["--"] + command, folder: folder)
                    #expect(outcome.status == 0, "\(outcome)")
                }
            }
        }
    }

    @Test func `runs have files of their own, and two of one name are refused`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let long = String(repeating: "\u{6F22}", count: 100)
                for (file, name) in [("a", "x y"), ("b", "x/y"), ("c", long), ("d", "x y")] {
                    let text = #"{ "name": "\#(name)", "faults": [ { "kind": "cut", "at": "100 B" } ] }"#
                    try Data(text.utf8).write(to: folder.appendingPathComponent("\(file).json"))
                }
                func run(_ files: [String]) async throws -> Outcome {
                    let profiles = files.flatMap { ["--profile", "\($0).json"] }
                    let arguments = ["test", "--upstream", origin, "--artifacts", "art"] + profiles
                    let command = ["sh", "-c", "curl -s http://{proxy}/file.bin >/dev/null; true"]
                    return try await squall(arguments + ["--"] + command, folder: folder)
                }
                let outcome = try await run(["a", "b", "c"])
                #expect(outcome.status == 0, "\(outcome)")
                let files = try FileManager.default.contentsOfDirectory(
                    atPath: folder.appendingPathComponent("art").path
                )
                #expect(files.count { $0.hasSuffix(".jsonl") } == 3 && files.count { $0.hasSuffix(".log") } == 3)
                let refused = try await run(["a", "d"])
                #expect(refused.status == 2 && refused.errors.contains("give one of the profiles another name"))
            }
        }
    }

    @Test func `a digest of what isn't a regular file ends the run, with the reason`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                #expect(mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
                for (path, reason) in [("/dev/zero", "it is a device"), ("pipe", "it is a FIFO")] {
                    let outcome = try await squall(
                        words: """
                            test --latency 1ms --upstream \(origin) --expect \(#"sha256("\#(path)") == "a""#)
                            -- curl -sf http://{proxy}/file.bin
                            """,
                        folder: folder
                    )
                    #expect(outcome.status == 1 && outcome.output.contains(reason), "\(outcome)")
                }
            }
        }
    }

    @Test func `the command learns of its proxies by words in braces and by its environment`() async throws {
        try await withOrigin(size: 1_000) { origin in
            let script = """
                [ "$1" = "$SQUALL_WEB_API_ADDRESS" ] && [ "$1" = "$SQUALL_WEB_API_HOST:$SQUALL_WEB_API_PORT" ] &&
                [ "$2" = "http://$1" ] && [ "$SQUALL_WEB_API_URL" = "$2" ] && [ "$3" = 5/slow-3g/127.0.0.1 ] &&
                [ "$SQUALL_SEED/$SQUALL_PROFILE" = 5/slow-3g ] && [ -d "$SQUALL_FOLDER" ] && [ "$4" = "$SQUALL_FOLDER" ] &&
                [ "$SQUALL_OTHER_ADDRESS" != "$1" ] && [ "$5" = "{unknown} {}" ] && seed=41 && [ "${seed}" = 41 ] &&
                curl -sS -o "$4/got" "$2/file.bin" && curl -sS "http://$SQUALL_OTHER_ADDRESS/file.bin" | cmp - "$4/got"
                """
            let outcome = try await squall(
                words: """
                    test --profile slow-3g --upstream web-api=\(origin) --upstream other=\(origin) --seed 5
                    --expect \("web-api.connections == 1 && other.connections == 1") -- sh -c \(script)
                    - {web-api} {web-api.url} {seed}/slow-3g/{web-api.host} {folder} \("{unknown} {}")
                    """
            )
            #expect(outcome.status == 0, "\(outcome)")
        }
    }

    @Test func `a stage in which no connection came or no fault acted fails, unless that is allowed`() async throws {
        try await withOrigin(size: 1_000) { origin in
            let idle = ["test", "--profile", "slow-3g", "--upstream", origin]
            let late = ["test", "--profile", "./late.json", "--upstream", origin]
            let fetch = ["--", "curl", "-sS", "-o", "/dev/null", "http://{proxy}/file.bin"]
            try await withFolder { folder in
                let profile = #"{ "name": "late", "faults": [ { "kind": "cut", "at": "1 GiB" } ] }"#
                try Data(profile.utf8).write(to: folder.appendingPathComponent("late.json"))
                for (words, status, text) in [
                    (idle + ["--", "true"], 1, "no connection came"),
                    (idle + ["--allow-vacuous", "--", "true"], 0, "passed: 1 run"),
                    (late + fetch, 1, "no fault of the profile acted"),
                    (late + ["--allow-vacuous"] + fetch, 0, "1 of them empty"),
                ] {
                    let outcome = try await squall(words, folder: folder)
                    #expect(Int(outcome.status) == status, "\(outcome)")
                    #expect(outcome.output.contains(text), "\(outcome)")
                }
            }
        }
    }

    @Test func `a command that can't pass is told from one that faults break`() async throws {
        try await withOrigin(size: 1_000) { origin in
            let script = "curl -sS -o /dev/null http://{proxy}/file.bin; echo nothing works; exit 7"
            let outcome = try await squall(words: "test --profile slow-3g --upstream \(origin) -- sh -c \(script)")
            #expect(outcome.status == 1)
            #expect(
                outcome.output.contains(
                    "The command fails without faults as well, with seed 1: the command exited with 7."
                )
            )
            #expect(outcome.output.contains("      | nothing works"))
            let judged = try await squall(
                words: "test --profile slow-3g --upstream \(origin) --expect \("waste < 5 %") -- sh -c \("exit 7")"
            )
            #expect(judged.status == 1)
            #expect(
                judged.errors.contains("fails without faults as well, so nothing is judged: the command exited with 7")
            )
        }
    }

    @Test(arguments: [
        (
            ["--seed", "1..2"], "curl -s -o /dev/null http://{proxy}/file.bin; [ {seed} != 2 ]",
            "2: the command exited with 1."
        ),
        (
            ["--expect", "time < 100 ms"], "curl -s -o /dev/null http://{proxy}/file.bin; sleep 0.2",
            "1: time < 100 ms doesn't hold: time is "
        ),
        (
            ["--expect", "connections == 1"], "for i in 1 2; do curl -s -o /dev/null http://{proxy}/file.bin; done",
            "1: connections == 1 doesn't hold: connections is 2."
        ),
        (
            ["--expect", #"exit == 0 && sha256("{folder}/got") == "00""#],
            "curl -s -o {folder}/got http://{proxy}/file.bin",
            "1: exit == 0 && sha256(\"{folder}/got\") == \"00\" doesn't hold: "
        ),
    ])
    func `the report of a failure says that the command fails without faults as well, and the seed`(
        options: [String],
        script: String,
        reason: String
    ) async throws {
        try await withOrigin(size: 1_000) { origin in
            let words = ["test", "--latency", "1ms", "--upstream", origin] + options
            let outcome = try await squall(words + ["--", "sh", "-c", script])
            #expect(outcome.status == 1)
            let note = "The command fails without faults as well, with seed \(reason)"
            #expect(outcome.output.contains(note), "\(outcome)")
        }
    }

    @Test func `what another run than the first has missed is looked for as well`() async throws {
        try await withOrigin(size: 100_000) { origin in
            try await withFolder { folder in
                for (name, fault) in [
                    ("cut", #"{ "kind": "cut", "at": "10 KiB", "how": "reset" }"#),
                    ("late", #"{ "kind": "latency", "delay": "1 ms" }"#),
                ] {
                    let profile = folder.appendingPathComponent("\(name).json")
                    try Data(#"{ "name": "\#(name)", "faults": [ \#(fault) ] }"#.utf8).write(to: profile)
                }
                let outcome = try await squall(
                    words: """
                        test --profile cut.json --profile late.json --upstream \(origin)
                        --expect \("faults == 0") --expect \("bytes < 50 KB")
                        -- sh -c \("curl -s -o /dev/null http://$0/file.bin; true") {proxy}
                        """,
                    folder: folder
                )
                #expect(outcome.status == 1)
                let reason = "bytes < 50 KB doesn't hold: bytes is "
                let note = "The command fails without faults as well, with seed 1: \(reason)"
                #expect(outcome.output.components(separatedBy: note).count == 3, "\(outcome)")
            }
        }
    }

    @Test func `what only faults bring about isn't missed without them`() async throws {
        try await withOrigin(size: 300_000) { origin in
            let script = "curl -s -o /dev/null http://$0/file.bin || curl -s -o /dev/null http://$0/file.bin"
            let outcome = try await squall(
                words: """
                    test --cut-at 100KB --upstream \(origin) --expect \("exit == 0") --expect \("connections == 2")
                    -- sh -c \(script) {proxy}
                    """
            )
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("The command passes without faults, with seed 1."), "\(outcome)")
        }
    }

    @Test func `runs that can't be made fail, the others go on, and all are reported`() async throws {
        try await withFolder { folder in
            let artifacts = folder.appendingPathComponent("art")
            try FileManager.default.createDirectory(
                at: artifacts.appendingPathComponent("slow-3g-seed-2.log"),
                withIntermediateDirectories: true
            )
            let blocked = try await squall(
                words: """
                    test --profile slow-3g --upstream 127.0.0.1:9 --allow-vacuous --seed 1..3 --artifacts art
                    --junit reports/report.xml --pcap reports -- true
                    """,
                folder: folder
            )
            #expect(blocked.status == 1, "\(blocked)")
            #expect(blocked.lines.contains { $0.hasPrefix("FAIL  slow-3g, seed 2 ") && $0.contains("not run") })
            #expect(blocked.lines.contains { $0.hasPrefix("empty slow-3g, seed 3 ") }, "\(blocked)")
            let report = folder.appendingPathComponent("reports/report.xml")
            #expect(try String(contentsOf: report, encoding: .utf8).contains("can't write “art/slow-3g-seed-2.log”"))
            let names = try FileManager.default.contentsOfDirectory(atPath: artifacts.path)
            #expect(names.allSatisfy { $0.hasPrefix("slow-3g-seed-") }, "a temporary file is left: \(names)")
            let script = folder.appendingPathComponent("once.sh")
            try Data("#!/bin/sh\nrm -- \"$0\"; exit 3\n".utf8).write(to: script)
            #expect(chmod(script.path, 0o755) == 0)
            let gone = try await squall(
                words: "test --profile slow-3g --upstream 127.0.0.1:9 --seed 1..2 --tap report.tap -- ./once.sh",
                folder: folder
            )
            #expect(gone.status == 1 && gone.output.contains("the command exited with 3"), "\(gone)")
            #expect(gone.output.contains("The search for the cause has ended early: can't run “./once.sh”"), "\(gone)")
            #expect(FileManager.default.fileExists(atPath: folder.appendingPathComponent("report.tap").path))
        }
    }

    @Test func `a scenario runs several proxies, and options choose among its runs`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let scenario = """
                    { "name": "two ways", "proxies": [
                        { "name": "socket", "listen": "unix", "upstream": "\(origin)" },
                        { "name": "web", "upstream": "\(origin)",
                          "profile": { "name": "late", "faults": [ { "kind": "latency", "delay": "5 ms" } ] } } ],
                      "profiles": ["slow-3g", "small-writes"], "seeds": "1..2", "jobs": 4,
                      "expect": ["socket.connections == 1", "web.faults(latency) >= 1"],
                      "command": ["sh", "-c", "curl -sSf --unix-socket {socket} http://a/file.bin -o /dev/null && curl -sSf {web.url}/file.bin -o /dev/null"] }
                    """
                try Data(scenario.utf8).write(to: folder.appendingPathComponent("stage.json"))
                let all = try await squall("test", "stage.json", "--artifacts", "journals", folder: folder)
                #expect(all.lines.filter { $0.hasPrefix("pass  ") || $0.hasPrefix("FAIL  ") }.count == 4, "\(all)")
                let one = try await squall(words: "test stage.json --profile small-writes --seed 2", folder: folder)
                #expect(one.lines.filter { $0.hasPrefix("pass  small-writes, seed 2") }.count == 1, "\(one)")
                let recording = folder.appendingPathComponent("journals/slow-3g-seed-1.jsonl").path
                let replay = try await withChild(
                    Programs.squall,
                    ["replay", recording, "--name", "web", "--listen", "127.0.0.1:0"]
                ) { child in
                    let line = try await child.line(with: "ready: ")
                    child.signal(SIGINT)
                    _ = await child.finish()
                    return line
                }
                #expect(replay.contains("profile “two ways") || replay.contains("late") || replay.contains("slow-3g"))
            }
        }
    }

    // MARK: Wrong input

    @Test func `a path of a socket that is too long, and words that aren't UTF-8, are exit 2`() async throws {
        try await withFolder { folder in
            let scenario = """
                { "proxies": [ { "name": "p", "listen": "unix", "upstream": "127.0.0.1:9", "profile": "slow-3g" } ],
                  "command": ["true"] }
                """
            try Data(scenario.utf8).write(to: folder.appendingPathComponent("stage.json"))
            let deep = folder.appendingPathComponent(String(repeating: "d", count: 100))
            try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: false)
            let long = try await squall("test", "stage.json", environment: ["TMPDIR": deep.path], folder: folder)
            #expect(long.status == 2 && long.errors.contains("set TMPDIR to a folder with a shorter path"), "\(long)")
            for command in ["test --latency 1ms --upstream 127.0.0.1:9", "shrink journal.jsonl"] {
                let script = #"exec "$0" \#(command) -- true "$(printf 'a\377b')""#
                let outcome = try await run("sh", ["-c", script, Programs.squall.path])
                #expect(outcome.status == 2 && outcome.errors.contains("isn't UTF-8"), "\(outcome)")
            }
        }
    }

    @Test(
        arguments: [
            (["--upstream", "127.0.0.1:9", "--", "true"], "a profile is missing"),
            (["--profile", "slow-3g", "--", "true"], "--upstream is missing"),
            (["--profile", "slow-3g", "--upstream", "127.0.0.1:9"], "the command is missing"),
            (["--profile", "slow-3", "--upstream", "127.0.0.1:9", "--", "true"], "did you mean “slow-3g”?"),
            (["--profile", "slow-3g", "--upstream", "127.0.0.1", "--", "true"], "write a host and a port"),
            (["--profile", "slow-3g", "--upstream", "127.0.0.1:0", "--", "true"], "needs a port above 0"),
            (
                ["--profile", "slow-3g", "--upstream", "a:1", "--upstream", "b:1", "--", "true"],
                "two proxies are called"
            ),
            (
                ["--profile", "slow-3g", "--upstream", "a-b=a:1", "--upstream", "a_b=b:1", "--", "true"],
                "rename one of them"
            ),
            (
                ["--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--seed", "3..1", "--", "true"],
                "no list of seeds"
            ),
            (["--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--jobs", "0", "--", "true"], "from 1 to 32"),
            (
                ["--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--junit", "/no/such/x", "--", "true"],
                "can't write"
            ),
            (
                ["--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--", "no-such-program"],
                "can't run “no-such-program”"
            ),
            (["stage.json", "--", "true"], "a command and a scenario don't go together"),
            (["stage.json", "--loss", "1%"], "--loss and a scenario don't go together"),
            (
                ["--print-profile", "--profile", "slow-3g", "--profile", "elevator"],
                "--print-profile takes one --profile at most"
            ),
            (["no-such.json"], "can't read the scenario “no-such.json”"),
            (
                ["--profile", "slow-3g", "--upstream", "127.0.0.1:9", "--expect", "waste < 5", "--", "true"],
                "waste < 5\n        ^\n“5” has no unit"
            ),
        ] as [([String], String)]
    )
    func `wrong input is exit 2 before anything runs`(words: [String], problem: String) async throws {
        let outcome = try await squall(["test"] + words)
        #expect(outcome.status == 2, "\(outcome)")
        #expect(outcome.errors.contains(problem), "\(outcome)")
        #expect(outcome.output.isEmpty)
    }
}
