import Foundation
import Glibc
import TestStreams
import Testing

/// Missing files and files of other formats as input.
@Suite(.timeLimit(.minutes(5))) struct InputFileTests {
    /// Runs `squall` in a folder with a FIFO, links, profiles that refer to them, and a file of another format.
    private func refused(_ arguments: [String]) async throws -> Outcome {
        try await withFolder { folder in
            #expect(mkfifo(folder.appendingPathComponent("pipe").path, 0o600) == 0)
            let links = ["null": "/dev/null", "zero": "/dev/zero", "tty": "/dev/tty", "fifo-link": "pipe"]
            for (name, target) in links {
                let path = folder.appendingPathComponent(name).path
                try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            }
            var files = ["other": InputFileTests.other, "settings.json": #"{ "token": "hunter2", "hunter3": true, }"#]
            for target in ["pipe", "zero", "other", "settings.json"] {
                files["extends-\(target).json"] = #"{ "name": "x", "extends": "./\#(target)" }"#
                files["trace-\(target).json"] = """
                    { "name": "x", "faults": [
                      { "kind": "trace", "stream": "downstream", "file": "./\(target)" } ] }
                    """
            }
            for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
            return try await squall(arguments, folder: folder)
        }
    }

    private static let other = """
        root:$6$hunter2$abc/def.:19000:0:99999:7:::
        daemon:*:19000:0:99999:7:::
        7777
        3333

        """

    private static let addresses = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9"]

    @Test(
        arguments: [
            (["check", "./pipe"], "it is a FIFO"), (["run", "./pipe"] + addresses, "it is a FIFO"),
            (["plan", "./pipe"], "it is a FIFO"), (["demo", "./pipe"], "it is a FIFO"),
            (["profiles", "./pipe"], "it is a FIFO"), (["check", "./fifo-link"], "it is a FIFO"),
            (["check", "./null"], "it is a device"), (["check", "./zero"], "it is a device"),
            (["check", "./tty"], "it is a device"), (["check", "./"], "it is a directory"),
            (["check", "extends-pipe.json"], "it is a FIFO"),
            (["run", "extends-zero.json"] + addresses, "it is a device"),
            (["plan", "trace-pipe.json"], "it is a FIFO"), (["check", "trace-zero.json"], "it is a device"),
            (["replay", "pipe"] + addresses, "it is a FIFO"), (["replay", "zero"] + addresses, "it is a device"),
            (["shrink", "pipe", "--", "true"], "it is a FIFO"), (["replay", "."] + addresses, "it is a directory"),
        ]
    )
    func `a FIFO or a device doesn't block, and is named with advice`(
        arguments: [String],
        words: String
    ) async throws {
        let outcome = try await refused(arguments)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errorLines.count == 1)
        #expect(outcome.errors.contains(words), "\(outcome.errors)")
        #expect(outcome.errors.contains("only a regular file is read") == (words != "it is a directory"))
        #expect(outcome.errors.hasSuffix(")\n"), "a remedy in parentheses")
    }

    @Test func `a pipe from a shell is refused with advice, and a file by its descriptor is read`()
        async throws
    {
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("p.json")
            try Data(#"{ "name": "x" }"#.utf8).write(to: profile)
            let piped = try await run(
                "sh",
                ["-c", "cat '\(profile.path)' | '\(Programs.squall.path)' check /dev/stdin"]
            )
            #expect(piped.status == 2)
            #expect(
                piped.errors.contains("it is a FIFO, and only a regular file is read (write what it gives to a file")
            )
            let given = try await run("sh", ["-c", "'\(Programs.squall.path)' check /dev/stdin <'\(profile.path)'"])
            #expect(given.status == 0)
        }
    }

    @Test(arguments: [
        ["check", "./other"], ["check", "extends-other.json"], ["plan", "trace-other.json"],
        ["check", "./settings.json"], ["check", "extends-settings.json.json"], ["check", "trace-settings.json.json"],
        ["replay", "other"] + addresses, ["replay", "settings.json"] + addresses, ["shrink", "other", "--", "true"],
    ])
    func `the content of a file that is neither profile, trace nor journal isn't shown`(arguments: [String])
        async throws
    {
        let outcome = try await refused(arguments)
        #expect(outcome.status == 2)
        for word in ["hunter", "root", "$6", "daemon", "99999", "7777", "3333", "token"] {
            #expect(!(outcome.output + outcome.errors).contains(word), "\(outcome.errors)")
        }
    }

    @Test func `a result isn't written to a FIFO`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("j").path
            try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", journal]) { proxy, address in
                _ = try await run("curl", ["-s", "http://\(address)/"])
                proxy.signal(SIGINT)
                _ = await proxy.finish()
            }
            let pipe = folder.appendingPathComponent("shrunk.json").path
            #expect(mkfifo(pipe, 0o600) == 0)
            let outcome = try await squall("shrink", journal, "--", "false", folder: folder)
            #expect(outcome.status == 2)
            let reason = "it is a FIFO, and a result is a regular file (--output)"
            #expect(outcome.errors == "squall: can't write “shrunk.json”: \(reason)\n")
        }
    }

    @Test func `a journal to a FIFO waits for its reader, and says so`() async throws {
        try await withFolder { folder in
            let pipe = folder.appendingPathComponent("journal").path
            #expect(mkfifo(pipe, 0o600) == 0)
            let arguments = ["run", "slow-3g", "--journal", pipe] + InputFileTests.addresses
            try await withChild(Programs.squall, arguments) { proxy in
                let line = try await proxy.errorLine(with: "waiting")
                #expect(line == "squall: the journal “\(pipe)” is a FIFO that no program reads: waiting for one")
                let reader = open(pipe, O_RDONLY | O_CLOEXEC)
                let shown = TextStream(reading: reader)
                _ = try await proxy.line(with: "ready: ")
                #expect(await shown.line { $0.contains(#""event":"journal""#) } != nil)
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
        }
    }

    /// Runs `squall` with an output redirected to the file “all”, which has a line; says what it and the file have then.
    private func redirected(_ redirection: String, _ arguments: [String]) async throws -> (Outcome, file: String) {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("all")
            try Data("before\n".utf8).write(to: file)
            let words = ["-c", #"exec "$0" "$@" \#(redirection)"#, Programs.squall.path] + arguments
            let outcome = try await withChild(Programs.find("sh"), words, folder: folder) { await $0.finish() }
            return (outcome, try String(contentsOf: file, encoding: .utf8))
        }
    }

    @Test(arguments: [
        ["plan", "slow-3g", "--size", "1KiB", "--svg", "/dev/stdout"],
        ["plan", "slow-3g", "--size", "1KiB", "--png", "all"],
        ["get", "http://127.0.0.1:9/file", "--output", "/dev/stdout"], ["get", "http://127.0.0.1:9/all"],
        ["run", "slow-3g", "--journal", "/dev/stdout"] + addresses, ["run", "slow-3g", "--pcap", "./all"] + addresses,
        ["test", "--profile", "slow-3g", "--upstream", "a=127.0.0.1:9", "--junit", "/dev/stdout", "--", "true"],
        ["run", "slow-3g", "--journal", "all", "--detach"] + addresses, ["serve", "--port", "0", "--state", "all"],
        ["serve", "--port", "0", "--state", "all", "--detach"],
        ["queue", "submit", "http://127.0.0.1:9/file", "--output", "all"],
    ])
    func `a result isn't written over the file that standard output goes to`(arguments: [String]) async throws {
        let (outcome, file) = try await redirected(">>all", arguments)
        #expect(outcome.status == 2)
        let problem = ", which is this command's own standard output: name another file\n"
        #expect(outcome.errors.hasSuffix(problem), "\(outcome)")
        #expect(file == "before\n")
    }

    @Test func `a result isn't written over the file that standard error goes to`() async throws {
        let (outcome, file) = try await redirected("2>>all", ["plan", "slow-3g", "--size", "1KiB", "--svg", "all"])
        #expect(outcome.status == 2)
        let problem = "the drawing of --svg would be written over “all”, which is this command's own standard error"
        #expect(file == "before\nsquall: \(problem): name another file\n")
    }

    @Test(arguments: ["/dev/null", "/dev/stdout", "/dev/full"])
    func `a journal goes to a device as before`(path: String) async throws {
        try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", path]) { proxy, address in
            _ = try await run("curl", ["-s", "http://\(address)/"])
            proxy.signal(SIGINT)
            let outcome = await proxy.finish()
            #expect(outcome.status == (path == "/dev/full" ? 1 : 0))
            #expect(outcome.output.contains(#""what":"refuses""#) == (path == "/dev/stdout"))
        }
    }
}
