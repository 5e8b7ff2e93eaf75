import Foundation
import Glibc
import Testing

/// The everyday faults as options, and the profile on standard input.
@Suite(.timeLimit(.minutes(5))) struct EverydayFaultTests {
    /// Runs a shell script in which `$0` is squall.
    private func shell(_ script: String, folder: URL? = nil) async throws -> Outcome {
        try await withChild(Programs.find("sh"), ["-c", script, Programs.squall.path], folder: folder) {
            await $0.finish()
        }
    }

    /// Runs `squall run` in front of an origin with these options, and without a profile.
    private func withFaults(
        _ options: [String],
        size: Int,
        _ body: (Child, String) async throws -> Void
    ) async throws {
        try await withOrigin(size: size) { origin in
            let port = try #require(origin.split(separator: ":").last)
            let arguments = ["run", "--listen", ":0", "--upstream", ":\(port)"] + options
            try await withChild(Programs.squall, arguments) { proxy in
                try await body(proxy, try address(in: proxy.line(with: "ready: ")))
            }
        }
    }

    @Test func `with --latency the first request takes two times that longer`() async throws {
        try await withFaults(["--latency", "200ms"], size: 10) { _, address in
            let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code} %{time_total}", "http://\(address)/file.bin"]
            let words = try await run("curl", arguments).output.split(separator: " ")
            #expect(words.first == "200")
            let seconds = try #require(words.last.flatMap { Double($0) })
            #expect(seconds >= 0.4)
        }
    }

    @Test func `a cut is journalled and replayed`() async throws {
        try await withFolder { folder in
            let (file, again) = (folder.appendingPathComponent("a.jsonl"), folder.appendingPathComponent("b.jsonl"))
            func fetch(_ proxy: Child, _ address: String) async throws -> [JournalLine] {
                _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
                return try journal(at: FileManager.default.fileExists(atPath: again.path) ? again : file)
            }
            try await withFaults(["--cut-at", "10KB", "--journal", file.path], size: 50_000) { proxy, address in
                let first = try await fetch(proxy, address)
                #expect(first.map(\.fault) == ["cut"] && first.map(\.offset) == [10_000])
                let arguments = ["replay", file.path, "--journal", again.path]
                try await withChild(Programs.squall, arguments) { replay in
                    let line = try await replay.line(with: "ready: ")
                    let place = try #require(line.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
                    #expect(try await fetch(replay, String(place)) == first)
                }
            }
        }
    }

    @Test func `the profile of the options is printed, read from standard input, and the same`() async throws {
        let options = "--latency 200ms±50ms --loss '1 %' --down 5Mbit/s --up '1 Mbit/s' --cut-at 1MiB --outage 10s..15s"
        let printed = try await shell("\"$0\" run --print-profile --seed 7 \(options)")
        #expect(printed.status == 0 && printed.errors.isEmpty)
        #expect(printed.output.hasPrefix("{\n  \"name\": \"options\",\n"))
        #expect(printed.output.contains("\n  \"seed\": 7,\n"))
        for (command, output) in [
            ("run --print-profile -", printed.output), ("plan --print-profile -", printed.output),
            ("demo --print-profile -", printed.output), ("profiles -", printed.output),
            ("check - -", "-: fine (6 faults, no phases)\n-: fine (6 faults, no phases)\n"),
        ] {
            let outcome = try await shell("\"$0\" run --print-profile --seed 7 \(options) | \"$0\" \(command)")
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(command)")
            #expect(outcome.output == output, "\(command)")
        }
    }

    @Test func `options are added to a profile`() async throws {
        let outcome = try await squall("run", "--print-profile", "slow-3g", "--latency", "1s", "--outage", "..5s")
        #expect(outcome.status == 0)
        #expect(outcome.output.hasPrefix("{\n  \"name\": \"slow-3g\","))
        #expect(outcome.output.contains(#"{ "name": "latency-2", "kind": "latency", "delay": "1 s" }"#))
        #expect(outcome.output.contains(#""when": { "clock": "..5 s" }"#))
    }

    @Test func `plan and demo take them without a profile`() async throws {
        let options = ["--down", "80Mbit/s", "--size", "256KiB", "--seed", "1"]
        for command in ["plan", "demo"] {
            let outcome = try await squall([command] + options)
            #expect(outcome.status == 0)
            #expect(outcome.output.hasPrefix("options: down 80 Mbit/s\n"), "\(command)")
        }
    }

    @Test func `without a profile and without a fault the error says what to give`() async throws {
        for command in ["run", "plan"] {
            let outcome = try await squall(command)
            #expect(outcome.status == 2)
            #expect(
                outcome.errorLines.first == "Error: there is no fault to inject: name a profile, such as wifi-roam "
                    + "(squall profiles lists them), or give a fault, such as --latency 200ms"
            )
        }
    }

    @Test func `problems of standard input have its name, and paths in it start from the working directory`()
        async throws
    {
        try await withFolder { folder in
            let base = Data(#"{ "name": "base", "faults": [ { "kind": "latency", "delay": "1 ms" } ] }"#.utf8)
            try base.write(to: folder.appendingPathComponent("base.json"))
            let extending = #"echo '{ "name": "x", "extends": "base.json" }' | "$0" check -"#
            #expect(try await shell(extending, folder: folder).output == "-: fine (1 fault, no phases)\n")
            let pointed = #"echo '{ "name": 5 }' | "$0" check - --format json"#
            #expect(try await shell(pointed, folder: folder).output.contains(#""path":"/name""#))
            for (script, problem) in [
                (#"echo '{ "name": "x", "nam": "x" }' | "$0" check -"#, "standard input:1:16: "),
                (#""$0" check - < /dev/null"#, "standard input:1:1: the file is empty"),
                (#""$0" check - < ."#, "squall: can't read the profile from standard input: Is a directory"),
                (#"head -c 1048577 /dev/zero | "$0" check -"#, "standard input:1:1: "),
                (
                    #""$0" plan - --svg base.json < base.json"#,
                    "squall: the drawing of --svg would be written over “/dev/stdin”, which is read"
                ),
            ] {
                let outcome = try await shell(script, folder: folder)
                #expect(outcome.status == 2 && outcome.output.isEmpty)
                #expect(outcome.errors.hasPrefix(problem), "\(outcome.errors)")
            }
        }
    }

    @Test func `a profile and its options have a limit together`() async throws {
        let outages = Array(repeating: ["--outage", "5s..6s"], count: 256).flatMap { $0 }
        let arguments = ["run", "--print-profile"] + outages
        #expect(try await squall(arguments).status == 0)
        let more = try await squall(arguments + ["--loss", "1%"])
        #expect(more.status == 2 && more.output.isEmpty)
        #expect(more.errors.hasPrefix("squall: the profile has more than 256 faults with those of the options"))
        let cuts = ["run"] + Array(repeating: ["--cut-at", "1B"], count: 257).flatMap { $0 }
        let many = try await squall(cuts)
        #expect(many.status == 2 && many.errors.hasPrefix("Error: --cut-at is given at most 256 times"))
    }
}
