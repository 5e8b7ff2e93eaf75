import Foundation
import Glibc
import TestStreams
import Testing

/// `squall exec`: programs that know of no proxy.
@Suite(.timeLimit(.minutes(5))) struct ExecTests {
    /// Connects to the port of the first argument in every way, and prints how each has ended.
    private static let client =
        ExecSocketTests.ports + """
            port, found, lock = int(sys.argv[1]), [], threading.Lock()
            def outcome(name, way):
                made = socket.socket(socket.AF_INET6 if way == "mapped" else socket.AF_INET)
                target = {"open": ("127.0.0.1", port), "shut": shut.getsockname(), "silent": silent.getsockname()}[name]
                if way == "mapped":
                    target = ("::ffff:" + target[0], target[1])
                if way == "waits":
                    if name == "silent":
                        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, (0).to_bytes(8, "little") + (200000).to_bytes(8, "little"))
                    code = made.connect_ex(target)
                else:
                    made.setblocking(False)
                    code = made.connect_ex(target)
                    if code == errno.EINPROGRESS:
                        poll = select.poll()
                        poll.register(made, select.POLLOUT)
                        if not poll.poll(300 if name == "silent" else 30000):
                            return "silence"
                        code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                if code:
                    return errno.errorcode[code]
                made.setblocking(True)
                made.settimeout(30)
                peer = made.getpeername()[:2] == target
                made.sendall(b"GET /file.bin HTTP/1.1\\r\\nHost: a\\r\\nRange: bytes=0-0\\r\\n\\r\\n")
                return "ok" if peer and made.recv(12) == b"HTTP/1.1 206" else "wrong"
            def work(number):
                for turn in range(8):
                    name = ["open", "shut", "open", "silent"][(number + turn) % 4]
                    way = ["waits", "polls", "mapped"][(number + turn) % 3]
                    said = f"{name} {way} {outcome(name, way)}"
                    with lock:
                        found.append(said)
            threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            print("\\n".join(sorted(found)))
            """

    private func exec(_ arguments: String...) async throws -> Outcome { try await squall(["exec"] + arguments) }

    private func exec(words line: Words) async throws -> Outcome { try await squall(["exec"] + line.words) }

    @Test func `connects that block and those that are polled end as without a supervisor`() async throws {
        try await withOrigin(size: 1_000) { origin in
            let arguments = ["-c", ExecTests.client, String(origin.split(separator: ":")[1])]
            let plain = try await run("python3", arguments)
            let words = ["exec", "--latency", "1ms", "--", "python3"] + arguments
            let supervised = try await squall(words)
            #expect(supervised.status == 0, "\(supervised.errors)")
            #expect(supervised.complaints.isEmpty)
            #expect(supervised.lines == plain.lines)
            #expect(plain.lines.count == 96)
            #expect(!plain.output.contains("wrong"))
        }
    }

    @Test func `a fault acts on a program that knows of no proxy, and the journal has it`() async throws {
        try await withOrigin(size: 1_000_000) { origin in
            try await withFolder { folder in
                let journal = folder.appendingPathComponent("journal.jsonl").path
                let cut = try await exec(
                    words: """
                        --cut-at 64KiB --journal \(journal) --seed 3 -- curl -sS -o /dev/null -w %{remote_port}
                        http://\(origin)/file.bin
                        """
                )
                #expect(cut.status == 56, "\(cut.errors)")
                // getpeername(2) tells the target.
                #expect(cut.output == origin.split(separator: ":")[1])
                let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
                #expect(lines.contains { $0.contains("\"offset\":65536") && $0.contains("\"connection\":1") })
            }
        }
    }

    /// Makes a pipe called like the second argument; for each line of it connects to the port of the first, and prints how
    /// that ended.
    private static let connector = """
        import errno, os, socket, sys
        os.mkfifo(sys.argv[2])
        print("ready", flush=True)
        for line in open(sys.argv[2], "rb", buffering=0):
            made = socket.socket()
            made.settimeout(10)
            code = made.connect_ex(("127.0.0.1", int(sys.argv[1])))
            made.close()
            print("connect:", errno.errorcode.get(code, "0"), flush=True)
        sys.exit(7)
        """

    @Test func `with a page the network changes while the command runs`() async throws {
        try await withOrigin(size: 10) { origin in
            try await withFolder { folder in
                let (asks, journal) = (folder.path + "/asks", folder.path + "/journal.jsonl")
                let words = ["exec", "--page", "--port", "0", "--journal", journal, "--", "python3", "-c"]
                let arguments = [ExecTests.connector, String(origin.split(separator: ":")[1]), asks]
                try await withChild(Programs.squall, words + arguments) { child in
                    let line = try await child.errorLine(with: "page: ")
                    let url = String(try #require(line.firstMatch(of: /http:[^ ]*[0-9]/)).output)
                    let exec = url + "/v1/proxies/exec"
                    func request(_ method: String, _ place: String, _ body: String = "") async throws -> String {
                        let content = body.isEmpty ? [] : ["-d", body]
                        return try await run("curl", ["-s", "-w", "%{http_code}", "-X", method, place] + content).output
                    }
                    _ = try await child.line(with: "ready")
                    let pipe = try #require(FileHandle(forWritingAtPath: asks))
                    func connects(_ end: String) async throws {
                        try pipe.write(contentsOf: Data("\n".utf8))
                        #expect(try await child.line(with: "connect: ") == "connect: \(end)")
                    }
                    try await connects("0")
                    #expect(try await request("GET", url + "/").contains("<!doctype html>"))
                    #expect(try await request("GET", exec).contains(#""profile":null"#))
                    let outage = #"{"kind":"outage","how":"refuse"}"#
                    #expect(try await request("PUT", exec + "/faults/off", outage).hasSuffix("200"))
                    try await connects("ECONNREFUSED")
                    #expect(try await request("DELETE", exec + "/faults/off").hasSuffix("200"))
                    try await connects("0")
                    // A proxy that is enabled again has other loops.
                    for (enabled, word) in [("false", "ECONNREFUSED"), ("true", "0")] {
                        #expect(try await request("PATCH", exec, "{\"enabled\":\(enabled)}").hasSuffix("200"))
                        try await connects(word)
                    }
                    // It has no address, and stays.
                    #expect(try await request("DELETE", exec).hasSuffix("409"))
                    #expect(try await request("PATCH", exec, #"{"listen":"127.0.0.1:0"}"#).hasSuffix("409"))
                    #expect(!(try await request("GET", url + "/v1/snapshot")).contains("squall exec"))
                    #expect(
                        try await request("PUT", url + "/v1/snapshot", #"{"proxies":[],"profiles":{}}"#).hasSuffix(
                            "200"
                        )
                    )
                    #expect(try await request("GET", exec).contains(#""listen":"squall exec""#))
                    try pipe.close()
                    #expect(await child.finish().status == 7)
                }
                let lines = try String(contentsOfFile: journal, encoding: .utf8)
                #expect(lines.contains("\"fault\":\"off\"") && lines.contains("\"outcome\":\"ECONNREFUSED\""))
                let generations = lines.matches(of: /"generation":([0-9]+)/).compactMap { Int($0.1) }
                #expect(generations == [2, 3, 4, 5])
                let disabled = lines.split(separator: "\n").filter { $0.contains("\"enabled\":false") }
                #expect(disabled.count == 1 && disabled[0].contains("\"generation\":4"), "\(disabled)")
                let replay = try await squall(["replay", journal, "--", "true"])
                #expect(replay.status == 2 && replay.errors.contains("the network was changed here"), "\(replay)")
            }
        }
    }

    @Test func `the command has no descriptor of the page's server, and all that its user gives it`() async throws {
        func descriptors(_ options: String) async throws -> [String] {
            // What other tests open at the same time may be inherited.
            let script = """
                for file in /proc/$$/fd/*; do number=${file##*/}; ((number > 2)) && eval "exec $number>&-"; done
                exec '\(Programs.squall.path)' exec --latency 1ms \(options) -- ls /proc/self/fd 9</dev/null
                """
            let outcome = try await run("bash", ["-c", script])
            #expect(outcome.status == 0, "\(outcome.errors)")
            return outcome.lines.sorted()
        }
        let plain = try await descriptors("")
        #expect(plain.contains("9"))
        #expect(try await descriptors("--page --port 0") == plain)
    }

    @Test func `a page whose port is taken is exit 1, and the command isn't run`() async throws {
        let taken = try await withOrigin(size: 1) { origin in
            let port = String(origin.split(separator: ":")[1])
            return try await exec("--page", "--port", port, "--", "echo", "ran")
        }
        #expect(taken.status == 1 && taken.errors.contains("the port is taken"), "\(taken.errors)")
        #expect(taken.output.isEmpty)
        let alone = try await exec("--latency", "1ms", "--port", "1", "--", "true")
        #expect(alone.status == 2 && alone.errors.contains("give --page as well"), "\(alone.errors)")
        let status = try await exec("--page", "--status", "--", "true")
        #expect(status.status == 2 && status.errors.contains("--status goes without --page"), "\(status.errors)")
    }

    @Test(arguments: [
        ("refuse", 7, 0.0), ("close", 52, 0.0), ("hang", 28, 0.9), ("delay\", \"for\": \"300 ms", 0, 0.3),
    ])
    func `a connect fault is what the program's connect ends with`(
        how: String,
        status: Int32,
        least: Double
    ) async throws {
        try await withOrigin(size: 10) { origin in
            try await withFolder { folder in
                let profile = folder.appendingPathComponent("profile.json")
                try Data("{\"name\":\"x\",\"faults\":[{\"kind\":\"connect\",\"how\":\"\(how)\"}]}".utf8).write(
                    to: profile
                )
                let began = Date()
                let limit = how == "hang" ? "1" : "60"
                let outcome = try await exec(
                    words: """
                        \(profile.path) -- curl -sS -m \(limit) -o /dev/null http://\(origin)/file.bin
                        """
                )
                #expect(outcome.status == status, "\(outcome.errors)")
                #expect(Date().timeIntervalSince(began) >= least)
            }
        }
    }

    @Test func `a proxy in the environment and a set-uid program are reported once`() async throws {
        try await withFolder { folder in
            let program = folder.appendingPathComponent("true")
            try FileManager.default.copyItem(atPath: "/bin/true", toPath: program.path)
            #expect(chmod(program.path, 0o4755) == 0)
            let outcome = try await squall(
                ["exec", "--latency", "1ms", "--", program.path],
                environment: ["HTTPS_PROXY": "http://127.0.0.1:9"]
            )
            #expect(outcome.status == 0)
            #expect(outcome.errors.contains("HTTPS_PROXY is set"), "\(outcome.errors)")
            #expect(outcome.errors.contains("without its privileges"), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 2, "\(outcome.errors)")
        }
    }

    @Test(arguments: [("curl", Int32(7)), ("/no/such/curl", 0), ("wget", 0)])
    func `a fault narrowed to a program acts on its connections alone`(program: String, status: Int32) async throws {
        try await withOrigin(size: 10) { origin in
            try await withFolder { folder in
                let profile = folder.appendingPathComponent("profile.json")
                let fault = "{\"kind\":\"connect\",\"how\":\"refuse\",\"when\":{\"program\":\"\(program)\"}}"
                try Data("{\"name\":\"x\",\"faults\":[\(fault)]}".utf8).write(to: profile)
                let url = "http://\(origin)/file.bin"
                let outcome = try await exec(profile.path, "--", "curl", "-sS", "-o", "/dev/null", url)
                #expect(outcome.status == status, "\(outcome.errors)")
            }
        }
    }

    @Test func `a replay cuts the connection of the same number to the same target, in whatever order`() async throws {
        let profile = """
            {"name":"x","faults":[{"kind":"cut","stream":"downstream","between":["10 KB","90 KB"],
              "when":{"connection":{"number":"1..2","per":"target"}}}]}
            """
        let script = """
            for target in "$@"; do curl -s -o /dev/null -w "$target %{size_download}\\n" "http://$target/file.bin"; done; exit 3
            """
        try await withOrigin(size: 100_000) { first in
            try await withOrigin(size: 100_000) { second in
                try await withFolder { folder in
                    try Data(profile.utf8).write(to: folder.appendingPathComponent("profile.json"))
                    func run(_ words: [String], _ targets: [String]) async throws -> Outcome {
                        let words = words + ["--", "sh", "-c", script, "sh"] + targets
                        return try await squall(words, folder: folder)
                    }
                    let order = [first, second, first, first, second]
                    let recorded = try await run(["exec", "profile.json", "--journal", "journal.jsonl"], order)
                    let journal = folder.appendingPathComponent("journal.jsonl")
                    let text = try String(contentsOf: journal, encoding: .utf8)
                    let lines = text.split(separator: "\n").filter { $0.contains("\"event\":\"connect\"") }
                    #expect(lines.count == 5)
                    for word in [
                        "\"outcome\":\"connected\"", "\"program\":\"curl\"", "\"number\":3", "\"target\":\"\(first)\"",
                    ] {
                        #expect(lines[3].contains(word), "\(lines[3])")
                    }
                    let replayed = try await run(["replay", "journal.jsonl"], [second, second, first, first, first])
                    #expect(replayed.status == 3, "\(replayed.errors)")
                    #expect(replayed.lines.sorted() == recorded.lines.sorted())
                    #expect(recorded.lines.filter { $0.hasSuffix(" 100000") } == ["\(first) 100000"])
                    let limited = ["replay", "journal.jsonl", "--connection-limit", "1", "--start-at", "+1h"]
                    #expect(try await run(limited, [first]).lines == [recorded.lines[0]])
                }
            }
        }
    }

    @Test func `a connect waits for the end of a silent outage`() async throws {
        try await withOrigin(size: 10) { origin in
            let began = Date()
            let outcome = try await exec(words: "--outage 0s..600ms -- curl -sS -o /dev/null http://\(origin)/file.bin")
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(Date().timeIntervalSince(began) >= 0.6)
        }
    }

    @Test func `only the chosen targets meet the faults`() async throws {
        try await withOrigin(size: 10) { origin in
            let port = origin.split(separator: ":")[1]
            for (option, target, status) in [
                ("--only", origin, Int32(7)), ("--only", ":\(port)", 7), ("--only", "localhost", 7),
                ("--only", "10.0.0.0/8", 0), ("--except", "127.0.0.0/8", 0), ("--except", "127.0.0.1:1", 7),
            ] {
                let outcome = try await exec(
                    words: """
                        --outage 0s..1h=refuse \(option) \(target) -- curl -sS -o /dev/null http://\(origin)/file.bin
                        """
                )
                #expect(outcome.status == status, "\(option) \(target): \(outcome.errors)")
            }
        }
    }

    @Test func `it ends as the command does, and writes nothing`() async throws {
        let written = try await exec("--latency", "1ms", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
        #expect(written.status == 7)
        #expect((written.output, written.errors) == ("out\n", "err\n"))
        #expect(try await exec("--latency", "1ms", "--", "sh", "-c", "kill -9 $$").status == 128 + SIGKILL)
        let missing = try await exec("--latency", "1ms", "--", "no-such-command")
        #expect(missing.status == 127)
        #expect(missing.errors.contains("can't run “no-such-command”"))
        #expect(try await exec("--latency", "1ms", "--", "/etc/passwd").status == 126)
        let nested = try await exec(words: "--latency 1ms -- \(Programs.squall.path) exec --loss 1% -- true")
        #expect(nested.status == 125)
        #expect(nested.errors.contains("another supervisor"))
    }

    @Test(arguments: [
        (["--latency", "1ms"], "the command is missing"), (["--", "true"], "there is no fault to inject"),
        (["--latency", "1ms", "--only", "a b", "--", "true"], "is no target"),
        (["--latency", "1ms", "--only", "8002", "--", "true"], "“8002” is no target: :8002 is the port"),
        (["--latency", "1ms", "--except", ":1,:2", "--", "true"], "is no target: give the option again for each"),
        (["--latency", "1ms", "--only", "a:1,2", "--", "true"], "is no target: give the option again for each"),
        (["--latency", "1ms", "--only", "no-such-host.invalid", "--", "true"], "can't find the address"),
        (["--latency", "1ms", "--journal", "-", "--", "true"], "standard output is the command's"),
        (["no-such-profile", "--", "true"], "no-such-profile"),
    ])
    func `wrong words are exit 2, and nothing runs`(arguments: [String], words: String) async throws {
        let outcome = try await squall(["exec"] + arguments)
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(words), "\(outcome.errors)")
    }

    @Test func `it stays while a process lives that the command has left, and takes all along when it is killed`()
        async throws
    {
        try await withFolder { folder in
            let script = "(setsid sh -c 'echo left $$; while [ ! -e go ]; do sleep 0.05; done; echo gone' &); exit 3"
            let words = ["exec", "--latency", "1ms", "--", "sh", "-c", script]
            let killed = try await withChild(Programs.squall, words, folder: folder) { child in
                let line = try await child.line(with: "left ")
                child.signal(SIGKILL)
                // Its outputs end with the last process that has them.
                return (try #require(pid_t(line.dropFirst(5))), await child.finish())
            }
            #expect(kill(killed.0, 0) != 0)
            #expect(!killed.1.output.contains("gone"))
            let stayed = try await withChild(Programs.squall, words, folder: folder) { child in
                _ = try await child.line(with: "left ")
                try Data().write(to: folder.appendingPathComponent("go"))
                return await child.finish()
            }
            #expect(stayed.status == 3)
            #expect(stayed.output.contains("gone"))
        }
    }

    @Test func `a guard that is stopped kills the command when squall is killed`() async throws {
        let script = "kill -STOP $PPID; echo command $$; exec sleep 1000"
        let words = ["exec", "--latency", "1ms", "--", "sh", "-c", script]
        let (line, outcome) = try await withChild(Programs.squall, words) { child in
            let line = try await child.line(with: "command ")
            child.signal(SIGKILL)
            // Its outputs end with the guard, which waits for the command's end.
            return (line, await child.finish())
        }
        #expect(outcome.status == 128 + SIGKILL)
        #expect(kill(try #require(pid_t(line.dropFirst(8))), 0) != 0)
    }

    @Test func `the folder of the authority is removed when squall is killed`() async throws {
        try await withFolder { folder in
            let words = ["exec", "--latency", "1ms", "--intercept", "localhost", "--", "sh", "-c"]
            let script = "ls $TMPDIR/squall-*/authority.pem; exec sleep 1000"
            let environment = ["TMPDIR": folder.path]
            try await withChild(Programs.squall, words + [script], environment: environment) { child in
                _ = try await child.line(with: "authority.pem")
                child.signal(SIGKILL)
                _ = await child.finish()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test func `a profile with faults for other proxies alone is refused`() async throws {
        let text = """
            {"name": "two", "proxies": [{"name": "a", "listen": ":0", "upstream": ":9", "faults": [{"kind": "cut", "at": "1 B"}]}],
              "faults": [{"kind": "outage", "how": "refuse", "when": {"proxy": "a"}}]}
            """
        try await withFolder { folder in
            try Data(text.utf8).write(to: folder.appendingPathComponent("two.json"))
            for words in [
                ["run", "./two.json", "--listen", ":0", "--upstream", ":9"], ["exec", "./two.json", "--", "true"],
                ["demo", "./two.json"],
            ] {
                let outcome = try await squall(words, folder: folder)
                #expect(outcome.status == 2, "\(outcome)")
                #expect(outcome.errors.contains("the profile has no fault for a proxy called"), "\(outcome.errors)")
            }
        }
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGINT, SIGQUIT])
    func `a signal that another process sends is the command's`(number: Int32) async throws {
        let words = [
            "exec", "--latency", "1ms", "--", "sh", "-c",
            "trap 'exit 9' \(number); echo ready; while :; do sleep 0.05; done",
        ]
        let status = try await withChild(Programs.squall, words) { child in
            _ = try await child.line(with: "ready")
            child.signal(number)
            return await child.finish().status
        }
        #expect(status == 9)
    }

    @Test func `with a parent it ends when that one is killed, and so does all that it has started`() async throws {
        let script = """
            exec 3< <("$1" exec --latency 1ms --parent $$ -- sh -c 'echo $$; exec sleep 1000')
            read -r process <&3
            echo $process
            kill -KILL $$
            """
        let words = ["-c", script, "bash", Programs.squall.path]
        let outcome = try await withChild(Programs.find("bash"), words) { await $0.finish() }
        #expect(outcome.status == 137)
        let process = try #require(outcome.lines.first.flatMap { pid_t($0) })
        #expect(await eventually { kill(process, 0) != 0 })
        let none = try await exec("--latency", "1ms", "--parent", "0", "--", "true")
        #expect(none.status == 1 && none.errors.contains("pidfd_open, errno 22"), "\(none.errors)")
    }
}
