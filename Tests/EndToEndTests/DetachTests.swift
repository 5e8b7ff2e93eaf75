import Foundation
import Glibc
import TestSockets
import Testing

/// `--detach`: commands that go on in the background.
@Suite(.timeLimit(.minutes(5))) struct DetachTests {
    /// Runs a command with `--detach` and its log in `folder`, hands what it said and its address to `body`, and ends its
    /// process.
    private func withDetached(
        _ arguments: [String],
        in folder: URL,
        _ body: (Outcome, String) async throws -> Void
    ) async throws {
        let outcome = try await squall(arguments + ["--detach"], environment: ["TMPDIR": folder.path], folder: folder)
        #expect(outcome.status == 0, "\(outcome.errors)")
        let told = try #require(outcome.lines.last?.firstMatch(of: #/^detached: process ([0-9]+), /#), "\(outcome)")
        let process = try #require(pid_t(told.output.1))
        defer { kill(process, SIGTERM) }
        try await body(outcome, try address(in: outcome.output))
    }

    /// The logs in a folder.
    private func logs(in folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".log") }
    }

    @Test func `run returns when it listens, and says its process and its log`() async throws {
        try await withFolder { folder in
            try await withOrigin(size: 1_000) { origin in
                let arguments = ["run", "slow-accept", "--listen", "127.0.0.1:0", "--upstream", origin, "--seed", "1"]
                try await withDetached(arguments, in: folder) { outcome, address in
                    #expect(outcome.errors.isEmpty)
                    #expect(outcome.lines.count == 2)
                    #expect(outcome.lines[0].hasPrefix("ready: \(address) -> \(origin) (proxy “proxy”, "))
                    let log = try #require(try logs(in: folder).first)
                    #expect(outcome.lines[1].hasSuffix(" ends; its log is \(folder.path)/\(log)"))
                    #expect(log.hasPrefix("squall-run-"))
                    let text = try String(contentsOf: folder.appendingPathComponent(log), encoding: .utf8)
                    #expect(text == outcome.lines[0] + "\n")
                    let got = try await run("curl", ["-s", "http://\(address)/file.bin"])
                    #expect(got.status == 0)
                }
            }
        }
    }

    @Test func `SIGTERM ends it, and its connections with it`() async throws {
        try await withFolder { folder in
            try await withOrigin(size: 1_000) { origin in
                let profile = #"{ "name": "hold", "faults": [ { "kind": "outage", "how": "silence" } ] }"#
                try Data(profile.utf8).write(to: folder.appendingPathComponent("hold.json"))
                let arguments = ["run", "./hold.json", "--listen", "127.0.0.1:0", "--upstream", origin]
                var client: TestSocket?
                try await withDetached(arguments, in: folder) { _, address in
                    client = try TestSocket.connected(to: address)
                    try client?.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                }
                #expect(client?.head() == nil)
            }
        }
    }

    @Test(arguments: ["origin", "serve"])
    func `servers can go on in the background too`(command: String) async throws {
        try await withFolder { folder in
            let port = command == "serve" ? ["--host", "127.0.0.1", "--port", "0"] : [folder.path, "--port", "0"]
            try await withDetached([command] + port, in: folder) { _, address in
                let path = command == "serve" ? "version" : try logs(in: folder)[0]
                let got = try await run("curl", ["-sf", "http://\(address)/\(path)"])
                #expect(got.status == 0, "\(got)")
            }
        }
    }

    @Test func `an error before it listens is the command's own, and leaves no log`() async throws {
        try await withFolder { folder in
            try await withOrigin(size: 1) { origin in
                for (listen, code) in [(origin, Int32(1)), ("nowhere.invalid:0", 2)] {
                    let arguments = ["run", "slow-3g", "--listen", listen, "--upstream", "127.0.0.1:9"]
                    let plain = try await squall(arguments)
                    let outcome = try await squall(arguments + ["--detach"], environment: ["TMPDIR": folder.path])
                    #expect(outcome.status == code && plain.status == code)
                    #expect(outcome.errors == plain.errors && !outcome.errors.isEmpty)
                    #expect(outcome.output.isEmpty)
                    #expect(try logs(in: folder).isEmpty)
                }
            }
        }
    }

    /// Runs a script of the shell, whose `$0` is the command, with the logs in `folder`.
    private func runScript(_ script: String, _ arguments: String..., in folder: URL) async throws -> Outcome {
        try await withChild(
            Programs.find("sh"),
            ["-c", script, Programs.squall.path] + arguments,
            environment: ["TMPDIR": folder.path]
        ) { await $0.finish() }
    }

    @Test func `a profile may come from standard input`() async throws {
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("p.json")
            try Data(#"{ "name": "piped" }"#.utf8).write(to: profile)
            let script = #""$0" run - --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --detach <"$1""#
            let outcome = try await runScript(script, profile.path, in: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("profile “piped”"))
            let told = try #require(outcome.output.firstMatch(of: #/process ([0-9]+), /#))
            let process = try #require(pid_t(told.output.1))
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/0") == "/dev/null")
            kill(process, SIGTERM)
        }
    }

    @Test(arguments: ["/dev/fd/9", "/proc/self/fd/9", "/dev/stdin"])
    func `a profile from a descriptor isn't read again`(path: String) async throws {
        let reason = "a descriptor can't be read again in the background"
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("p.json")
            try Data(#"{ "name": "given" }"#.utf8).write(to: profile)
            func start(_ options: String) async throws -> Outcome {
                let script = #"exec "$0" run "$2" --listen :0 --upstream :9 --detach \#(options) <"$1" 9<"$1""#
                return try await runScript(script, profile.path, path, in: folder)
            }
            let refused = try await start("--watch")
            #expect(refused.status == 2 && refused.errors.contains("--watch: \(reason): name a file"), "\(refused)")
            #expect(try logs(in: folder).isEmpty)
            let outcome = try await start("")
            let told = try #require(outcome.output.firstMatch(of: #/process ([0-9]+), /#), "\(outcome)")
            let process = try #require(pid_t(told.output.1))
            defer { kill(process, SIGTERM) }
            let log = folder.appendingPathComponent(try #require(try logs(in: folder).first))
            kill(process, SIGHUP)
            var text = ""
            while !text.contains("again") { text = try String(contentsOf: log, encoding: .utf8) }
            #expect(text.contains("squall: \(reason): nothing has changed (name a file)\n"), "\(text)")
        }
    }

    @Test func `a profile may come from a descriptor, which is closed when the ready line comes`() async throws {
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("p.json")
            try Data(#"{ "name": "given" }"#.utf8).write(to: profile)
            let script = #""$0" run /dev/fd/9 --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --detach 9<"$1""#
            let outcome = try await runScript(script, profile.path, in: folder)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("profile “given”"))
            let told = try #require(outcome.output.firstMatch(of: #/process ([0-9]+), /#))
            let process = try #require(pid_t(told.output.1))
            let descriptors = "/proc/\(process)/fd"
            let files = try FileManager.default.contentsOfDirectory(atPath: descriptors).map {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
            }
            #expect(!files.contains(profile.path) && files.count > 3, "\(files)")
            kill(process, SIGTERM)
        }
    }

    /// The processes whose temporary folder is `folder`.
    private func processes(of folder: URL) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { name in
            guard let variables = FileManager.default.contents(atPath: "/proc/\(name)/environ") else { return false }
            return variables.split(separator: 0).contains { $0.elementsEqual("TMPDIR=\(folder.path)".utf8) }
        }
    }

    @Test func `nothing goes on that nobody was told of`() async throws {
        try await withFolder { folder in
            let script = #"exec "$0" run slow-3g --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --detach >/dev/full"#
            let outcome = try await runScript(script, in: folder)
            #expect(outcome.status == 1 && outcome.errors.contains("No space left on device"), "\(outcome)")
            #expect(try processes(of: folder).isEmpty && logs(in: folder).isEmpty)
        }
    }

    @Test func `a log that can't be made is an error that names its folder`() async throws {
        try await withFolder { folder in
            let missing = folder.appendingPathComponent("missing").path
            let arguments = ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9", "--detach"]
            let outcome = try await squall(arguments, environment: ["TMPDIR": missing])
            #expect(outcome.status == 1)
            let reason = "no log in \(missing) (TMPDIR): No such file or directory (mkstemps, errno 2)"
            #expect(outcome.errors == "squall: can't start in the background: \(reason)\n")
        }
    }

    @Test func `it is called squall among the processes`() async throws {
        try await withFolder { folder in
            let arguments = ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9"]
            try await withDetached(arguments, in: folder) { _, _ in
                let names = try processes(of: folder).map { process in
                    try String(contentsOfFile: "/proc/\(process)/comm", encoding: .utf8)
                }
                #expect(names == ["squall\n"])
            }
        }
    }

    @Test func `a journal on standard output isn't for it`() async throws {
        let outcome = try await squall(words: "run slow-3g --listen :0 --upstream :9 --detach --journal -")
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("write --journal FILE"))
    }
}
