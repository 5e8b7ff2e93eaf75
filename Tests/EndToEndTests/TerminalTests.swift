import Foundation
import Testing

/// Output on a terminal, and in a pipe.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    @Test func `a pipe gets neither escape sequences nor carriage returns`() async throws {
        let demo = try await squall("demo", "first-two-fail", "--size", "200KiB")
        let list = try await squall("profiles")
        let wrong = try await squall("demo", "nothing")
        for outcome in [demo, list, wrong] {
            for sign in ["\u{1B}", "\r", "\u{8}"] { #expect(!(outcome.output + outcome.errors).contains(sign)) }
        }
        #expect(demo.complaints.isEmpty, "progress is for terminals")
        #expect(demo.output.contains("client: resumed at "))
    }

    @Test func `a terminal gets a line of progress, and the end of it is clean`() async throws {
        // script(1) runs its child on a terminal and copies the output.
        let line = "'\(Programs.squall.path)' demo slow-3g --size 24KiB"
        let shown = try await run("env", ["TERM=xterm", "script", "-qec", line, "/dev/null"])
        #expect(shown.status == 0)
        #expect(shown.output.contains("\u{1B}[K"))
        #expect(shown.output.contains(" of 24.0 KiB"))
        #expect(shown.output.contains("Downloading at ") || shown.output.contains("Connecting."))
        let last = try #require(shown.output.components(separatedBy: "\u{1B}[J").last)
        #expect(!last.contains("\u{1B}[K"))
        #expect(last.contains("equal: the file arrived byte for byte"))
    }

    @Test func `exec has a status line only where it is asked for`() async throws {
        let command = "'\(Programs.squall.path)' exec slow-3g"
        for (options, isShown) in [("", false), ("--status", true)] {
            let line = "\(command) \(options) -- sh -c 'sleep 0.6; echo over'"
            let shown = try await run("env", ["TERM=xterm", "script", "-qec", line, "/dev/null"])
            #expect(shown.status == 0)
            #expect(shown.output.contains("over"))
            #expect(shown.output.contains("0 open") == isShown, "\(shown.output)")
        }
    }

    /// The output of `arguments` on a terminal of `columns`, at a rate that draws the line several times.
    private func shown(
        _ arguments: [String],
        columns: UInt16,
        _ environment: [String: String],
        folder: URL
    ) async throws -> String {
        let terminal = try PseudoTerminal()
        terminal.resize(columns: columns)
        let script = "exec \"$0\" \"$@\" 2>\(terminal.path)"
        let command = ["-c", script, Programs.squall.path] + arguments + ["--limit-rate", "200 KB/s"]
        let outcome = try await withChild(Programs.find("sh"), command, environment: environment, folder: folder) {
            await $0.finish()
        }
        #expect(outcome.status == 0)
        #expect(!outcome.output.contains("\u{1B}") && !outcome.output.contains("\r"))
        terminal.hangUp()
        return await terminal.shown.text()
    }

    @Test(arguments: [40, 60, 80] as [UInt16], ["get", "put"])
    func `a transfer draws a bar that fits the terminal, and takes it away`(columns: UInt16, command: String)
        async throws
    {
        try await withUploadingOrigin(size: 200_000) { folder, origin in
            let cut = #"{"name": "x", "faults": [{"kind": "cut", "at": "40 KB", "when": {"connection": 1}}]}"#
            try await withProxy(cut, to: origin) { _, address in
                let arguments =
                    command == "get"
                    ? ["get", "http://\(address)/file.bin", "--output", "received.bin"]
                    : ["put", "file.bin", "http://\(address)/uploaded.bin", "--state", "state"]
                let environment = ["TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"]
                let text = try await shown(arguments, columns: columns, environment, folder: folder)
                let drawn = text.components(separatedBy: "\r").map { $0.prefix { $0 != "\u{1B}" && $0 != "\n" } }
                    .filter { $0.prefix(6).contains(" % ") || $0.prefix(6).contains(" %  ") }
                #expect(drawn.count > 2)
                #expect(drawn.allSatisfy { $0.count < columns }, "\(drawn)")
                #expect(drawn.contains { $0.contains("█") && $0.contains("B/s") && $0.contains(" left") })
                #expect(drawn.contains { $0.hasSuffix("resumed 1×") } == (columns == 80))
                #expect(drawn.contains { $0.contains(" of 195.3 KiB") } == (columns > 40))
                #expect(text.contains("resumed at "))
                #expect(text.hasSuffix("\r\u{1B}[K"))
                #expect(text.matches(of: /\u{1B}\[[0-9;]*m/).isEmpty)
            }
        }
    }

    @Test func `a dumb terminal gets an ASCII bar without escape sequences, another one colors`() async throws {
        try await withOrigin(size: 200_000) { origin in
            try await withFolder { folder in
                let arguments = ["get", "http://\(origin)/file.bin", "--output"]
                let locale = ["LC_ALL": "C.UTF-8"]
                let dumb = try await shown(
                    arguments + ["1"],
                    columns: 80,
                    locale.merging(["TERM": "dumb"]) { $1 },
                    folder: folder
                )
                #expect(dumb.contains("[==="))
                #expect(dumb.unicodeScalars.allSatisfy { $0.isASCII && $0 != "\u{1B}" })
                #expect(dumb.hasSuffix(" \r"))
                var environment = locale.merging(["TERM": "xterm", "NO_COLOR": ""]) { $1 }
                let color = try await shown(arguments + ["2"], columns: 80, environment, folder: folder)
                #expect(color.contains("\u{1B}[32m█"))
                environment["LC_ALL"] = "C"
                let plain = try await shown(arguments + ["3"], columns: 80, environment, folder: folder)
                #expect(plain.contains("[\u{1B}[32m==="))
            }
        }
    }

    @Test func `a demo that is shown on a terminal has all of its text in a pipe, without colors`() async throws {
        let terminal = try PseudoTerminal()
        terminal.resize(columns: 60)
        let script = "exec \"$0\" demo cut-every-mebibyte --size 2MiB --direction downstream 2>\(terminal.path)"
        // `swift test` sets NO_COLOR where its own output is no terminal.
        let environment = ["TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": ""]
        let arguments = ["-c", script, Programs.squall.path]
        let outcome = try await withChild(Programs.find("sh"), arguments, environment: environment) {
            await $0.finish()
        }
        #expect(outcome.status == 0)
        #expect(!outcome.output.contains("\u{1B}"))
        for text in ["connection 1, downstream: cut resets at 1,048,576", "client: resumed at ", "SHA-256  "] {
            #expect(outcome.output.contains(text))
        }
        #expect(outcome.lines.last == "equal: the file arrived byte for byte")
        terminal.hangUp()
        let shown = await terminal.shown.text()
        #expect(shown.contains("\u{1B}[32m"), "\(shown.debugDescription)")
    }

    @Test func `squall run tells its phases and its status on a terminal, and takes the status away`() async throws {
        let profile = """
            {"name": "x", "phases": [{"name": "at home", "for": "1 ms"}, {"name": "on the road",
              "faults": [{"kind": "cut", "at": "100 KB", "when": {"connection": 1}}]}]}
            """
        try await withOrigin(size: 200_000) { origin in
            try await withFolder { folder in
                try Data(profile.utf8).write(to: folder.appendingPathComponent("x.json"))
                let terminal = try PseudoTerminal()
                terminal.resize(columns: 100)
                let script = "exec \"$0\" run ./x.json --listen 127.0.0.1:0 --upstream \(origin) 2>\(terminal.path)"
                let arguments = ["-c", script, Programs.squall.path]
                let environment = ["TERM": "xterm", "LC_ALL": "C.UTF-8"]
                try await withChild(Programs.find("sh"), arguments, environment: environment, folder: folder) { proxy in
                    let ready = try await proxy.line(with: "ready: ")
                    let address = String(try #require(ready.firstMatch(of: /127[.]0[.]0[.]1:[0-9]+/)).output)
                    _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                    // The status is drawn four times a second.
                    _ = await terminal.shown.text(upTo: "  1 fault\u{1B}")
                    proxy.signal(SIGTERM)
                    let outcome = await proxy.finish()
                    #expect(outcome.status == 0)
                    #expect(!outcome.output.contains("\u{1B}"))
                }
                terminal.hangUp()
                let text = await terminal.shown.text()
                #expect(text.contains("— on the road"))
                #expect(text.contains("cut resets at 100,000"))
                #expect(text.contains("[on the road]  0 open  up "))
                #expect(text.hasSuffix("\r\u{1B}[K"))
            }
        }
    }

    /// The text of a terminal without escape sequences, in lines.
    private func lines(_ shown: String) -> [String] {
        shown.replacing(/\u{1B}\[[0-9;]*[A-Za-z]/, with: "").split(whereSeparator: \.isNewline).map(String.init)
    }

    @Test(arguments: [60, 80] as [UInt16])
    func `the lines of squall run fit the terminal, and are whole in a pipe`(columns: UInt16) async throws {
        let name = "the cut at the end of a long tunnel under the river and the sea"
        let profile = #"{"name": "p", "faults": [{"name": "\#(name)", "kind": "cut", "at": "100 KB"}]}"#
        try await withOrigin(size: 200_000) { origin in
            try await withFolder { folder in
                try Data(profile.utf8).write(to: folder.appendingPathComponent("x.json"))
                let command = "exec \"$0\" run ./x.json --listen 127.0.0.1:0 --upstream \(origin) --seed 4294967295"
                for outputs in [">\"$1\" 2>\"$1\"", "2>&1"] {
                    let terminal = try PseudoTerminal()
                    terminal.resize(columns: columns)
                    let arguments = ["-c", "\(command) \(outputs)", Programs.squall.path, terminal.path]
                    let environment = ["TERM": "xterm", "LC_ALL": "C.UTF-8"]
                    let isPiped = outputs == "2>&1"
                    try await withChild(Programs.find("sh"), arguments, environment: environment, folder: folder) {
                        proxy in
                        let ready =
                            isPiped
                            ? try await proxy.line(with: "ready: ")
                            : try #require(await terminal.shown.text(upTo: " -> \(origin)"))
                        let address = String(try #require(ready.firstMatch(of: /127[.]0[.]0[.]1:[0-9]+/)).output)
                        _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                        if !isPiped { _ = await terminal.shown.text(upTo: "1 fault\u{1B}") }
                        proxy.signal(SIGTERM)
                        let outcome = await proxy.finish()
                        #expect(outcome.status == 0)
                        #expect(outcome.output.contains("profile “p”, seed 4294967295)\n") == isPiped)
                    }
                    terminal.hangUp()
                    let shown = lines(await terminal.shown.text())
                    #expect(shown.allSatisfy { $0.count < Int(columns) }, "\(shown)")
                    guard !isPiped else { continue }
                    let ready = try #require(shown.firstIndex { $0.hasPrefix("ready: ") })
                    #expect(shown[ready].contains(" -> \(origin) (proxy “proxy”"))
                    #expect(shown[ready + 1].hasPrefix("  ") && shown[ready + 1].hasSuffix("seed 4294967295)"))
                    #expect(shown.contains { $0.contains("connection 1, ") && $0.hasSuffix("…") }, "\(shown)")
                }
            }
        }
    }

    @Test func `a closed output pipe does not end the proxy`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withProxy("slow-3g", to: origin, ["--journal", "-"], isHeard: false) { _, address in
                let first = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                let second = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                #expect(first.status == 0)
                #expect(second.status == 0)
            }
        }
    }

    @Test func `a demo with a stopped terminal continues, and prints everything once it resumes`() async throws {
        let terminal = try PseudoTerminal()
        terminal.stop()
        // At this rate the live line is drawn a few times.
        let profile = """
            {"name": "stands-still", "faults": [
              {"kind": "bandwidth", "rate": "2 Mbit/s"},
              {"kind": "cut", "stream": "downstream", "at": "64 KiB", "how": "reset", "when": {"connection": 1}}]}
            """
        try await withFolder { folder in
            try profile.write(to: folder.appendingPathComponent("profile.json"), atomically: true, encoding: .utf8)
            let script = "exec \"$0\" \"$@\" 2>\(terminal.path)"
            let arguments = ["demo", "profile.json", "--size", "200KiB", "--events", "json"]
            let command = ["-c", script, Programs.squall.path] + arguments
            let environment = ["TERM": "xterm"]
            try await withChild(Programs.find("sh"), command, environment: environment, folder: folder) { demo in
                _ = try await demo.line(with: "\"event\":\"finished\"")
                terminal.start()
                let outcome = await demo.finish()
                #expect(outcome.status == 0)
                #expect(outcome.lines.last?.contains("\"event\":\"proved\"") == true)
            }
        }
        terminal.hangUp()
        let shown = await terminal.shown.text()
        #expect(shown.contains("client: resumed at "))
        #expect(shown.contains(" of 200.0 KiB"))
    }
}
