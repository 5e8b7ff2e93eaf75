import Foundation
import Testing

/// `squall test` with the everyday faults as options.
@Suite(.timeLimit(.minutes(5))) struct StageOptionTests {
    private static let given = [
        "--latency", "1ms ± 1ms", "--down", "80 Mbit/s", "--up", "9MB/s", "--loss", "0.5 %", "--cut-at", "1MiB",
        "--cut-at", "70 KB", "--outage", "1h..2h", "--outage", "3h",
    ]
    /// The same as the replay line has them.
    private static let repeated = [
        "--latency", "1ms+-1ms", "--down", "80Mbit/s", "--up", "72Mbit/s", "--loss", "0.5%", "--cut-at", "1MiB",
        "--cut-at", "70KB", "--outage", "1h..2h", "--outage", "3h",
    ]

    @Test(arguments: [[], ["--profile", "slow-3g"]] as [[String]])
    func `the replay line repeats the faults of options`(profile: [String]) async throws {
        try await withOrigin(size: 1_000) { origin in
            // It fails, with words that a shell has to quote.
            let limits = ["--link-memory", "1 MiB", "--connection-limit", "9"]
            let command = limits + ["--allow-vacuous", "--", "sh", "-c", "echo \"it's $1\"; exit 3", "sh", "{proxy}"]
            let arguments = ["test", "--upstream", origin] + profile + StageOptionTests.given + command
            let first = try await squall(arguments)
            #expect(first.status == 1)
            let line = try #require(replayLine(first), "\(first)")
            #expect(
                line.contains(
                    " \(StageOptionTests.repeated.joined(separator: " ")) --link-memory 1MiB --connection-limit 9 "
                ),
                "\(line)"
            )
            let path = "PATH=\(Programs.squall.deletingLastPathComponent().path):$PATH"
            let again = try await withChild(Programs.find("sh"), ["-c", "\(path) \(line)"]) { await $0.finish() }
            #expect(again.status == 1 && again.output.contains("it's 127.0.0.1:"), "\(again)")
            #expect(replayLine(again) == line)
        }
    }

    @Test func `each run has a capture, which the page links from its own folder`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withFolder { folder in
                let arguments = [
                    "test", "--upstream", origin, "--latency", "1ms", "--seed", "1..2", "--pcap", "all captures",
                    "--pcap-limit", "1MiB", "--html", "page.html", "--", "curl", "-sS", "http://{proxy}/file.bin",
                ]
                let outcome = try await squall(arguments, folder: folder)
                #expect(outcome.status == 0, "\(outcome)")
                let page = try String(contentsOf: folder.appendingPathComponent("page.html"), encoding: .utf8)
                let names = try FileManager.default.contentsOfDirectory(
                    atPath: folder.appendingPathComponent("all captures").path
                )
                #expect(names.count == 2)
                for name in names {
                    #expect(page.contains("<a href=\"all%20captures/\(name)\">"), "\(name)")
                    let capture = try Data(contentsOf: folder.appendingPathComponent("all captures/\(name)"))
                    #expect(
                        capture.range(of: Data("latency “".utf8)) != nil && capture.prefix(2) == Data([0x0A, 0x0D])
                    )
                }
            }
        }
    }

    @Test func `the lines that repeat a scenario's runs find its profiles`() async throws {
        try await withFolder { folder in
            let sub = folder.appendingPathComponent("sub")
            try FileManager.default.createDirectory(at: sub, withIntermediateDirectories: false)
            let own = #"{ "name": "mine", "faults": [ { "kind": "cut", "at": "1 KB" } ] }"#
            try Data(own.utf8).write(to: sub.appendingPathComponent("own.json"))
            let scenario = """
                { "proxies": [ { "name": "p", "upstream": "127.0.0.1:9" } ], "command": ["false"],
                  "profiles": [ "own.json", { "name": "inline", "faults": [ { "kind": "cut", "at": "1 KB" } ] } ] }
                """
            try Data(scenario.utf8).write(to: sub.appendingPathComponent("stage.json"))
            let all = try await squall("test", "sub/stage.json", folder: folder)
            let lines = all.lines.compactMap { $0.components(separatedBy: "repeat it: squall ").dropFirst().first }
            #expect(lines.count == 2, "\(all)")
            for line in lines {
                let words = line.split(separator: " ").map(String.init)
                let again = try await squall(words, folder: folder)
                #expect(again.status == 1 && again.output.contains("repeat it: squall \(line)\n"), "\(again)")
            }
        }
    }

    @Test func `the replay line repeats a profile whose path begins with a dash, and the largest seed`() async throws {
        try await withFolder { folder in
            let profile = """
                { "name": "odd", "seed": 18446744073709551615, "faults": [ { "kind": "latency", "delay": "1 ms" } ] }
                """
            try Data(profile.utf8).write(to: folder.appendingPathComponent("-odd.json"))
            let first = try await squall(
                words: "test --profile=-odd.json --upstream=-a=127.0.0.1:9 --allow-vacuous -- false",
                folder: folder
            )
            let line = try #require(replayLine(first), "\(first)")
            #expect(line.contains(" --profile=-odd.json --seed 18446744073709551615 "), "\(line)")
            let words = line.split(separator: " ").dropFirst().map(String.init)
            let again = try await squall(words, folder: folder)
            #expect(again.status == 1 && replayLine(again) == line, "\(again)")
        }
    }

    @Test func `the replay line repeats words of several lines, as bash reads it`() async throws {
        let words = ["a\n'b'\\n\tc\u{1B}\u{202E}é", "{1..2}", "", "$HOME"]
        let script = "printf '<%s>' \"$@\" >> said\nexit 3"
        let options = [
            "test", "--upstream", "127.0.0.1:9", "--latency", "1ms", "--allow-vacuous", "--", "sh", "-c", script,
        ]
        try await withFolder { folder in
            let first = try await squall(options + ["sh"] + words, folder: folder)
            let line = try #require(replayLine(first), "\(first)")
            let said = folder.appendingPathComponent("said")
            // Once with the faults, once without.
            let once = words.map { "<\($0)>" }.joined()
            let twice = once + once
            #expect(try String(contentsOf: said, encoding: .utf8) == twice)
            try FileManager.default.removeItem(at: said)
            let path = "PATH=\(Programs.squall.deletingLastPathComponent().path):$PATH"
            let again = try await withChild(Programs.find("bash"), ["-c", "\(path) \(line)"], folder: folder) {
                await $0.finish()
            }
            #expect(again.status == 1 && replayLine(again) == line, "\(again)")
            #expect(try String(contentsOf: said, encoding: .utf8) == twice)
        }
    }

    private func replayLine(_ outcome: Outcome) -> String? {
        outcome.lines.first { $0.contains("repeat it: ") }?.components(separatedBy: "repeat it: ").last
    }

    @Test(arguments: [[], ["--profile", "slow-3g"]] as [[String]])
    func `the options of the replay line amount to the same profile`(profile: [String]) async throws {
        var printed: Set<String> = []
        for options in [StageOptionTests.given, StageOptionTests.repeated] {
            let arguments = ["test", "--print-profile"] + profile + options
            let outcome = try await squall(arguments)
            #expect(outcome.status == 0 && outcome.output.contains("\"outage\""), "\(outcome)")
            printed.insert(outcome.output)
        }
        #expect(printed.count == 1)
    }

    @Test func `a client is judged behind faults of options alone`() async throws {
        try await withOrigin(size: 300_000) { origin in
            let command = ["--", "curl", "-sf", "-o", "/dev/null", "http://{proxy}/file.bin"]
            let cut = ["test", "--cut-at", "100KB", "--upstream", origin, "--expect", "exit == 0 && faults(cut) == 1"]
            let outcome = try await squall(cut + command)
            #expect(outcome.status == 1)
            #expect(outcome.output.contains("options, seed 1 failed: "), "\(outcome)")
            #expect(outcome.output.contains("The command passes without faults, with seed 1."), "\(outcome)")
            let slow = ["test", "--latency", "5ms", "--upstream", origin, "--expect", "time >= 10 ms"]
            let passed = try await squall(slow + command)
            #expect(passed.status == 0, "\(passed)")
        }
    }

    @Test func `more runs than are made are exit 2`() async throws {
        let profiles = Array(repeating: ["--profile", "slow-3g"], count: 11).flatMap(\.self)
        let outcome = try await squall(["test"] + profiles + ["--seed", "1..1000", "--upstream", ":9", "--", "true"])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("these are 11000 runs, and at most 10000 are made"), "\(outcome)")
    }
}
