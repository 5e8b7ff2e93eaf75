import Foundation
import Glibc
import Testing

/// `squall run` with a changing profile: SIGHUP and `--watch`.
@Suite(.timeLimit(.minutes(5))) struct ReloadTests {
    /// A profile that responds with a status itself, or does nothing.
    private func profile(status: Int?, _ rest: String = "") -> String {
        let answer = status.map { #"{ "name": "answer", "kind": "http", "answer": { "status": \#($0) } }"# } ?? ""
        return #"{ "name": "changing"\#(rest), "faults": [ \#(answer) ] }"#
    }

    private func status(_ address: String) async throws -> String {
        let arguments = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "http://\(address)/file.bin"]
        return try await run("curl", arguments).output
    }

    /// Replaces a file like an editor.
    private func replace(_ file: URL, _ text: String) throws {
        try Data(text.utf8).write(to: file, options: .atomic)
    }

    private func withChangingProxy(
        _ options: [String],
        _ first: String,
        _ body: (Child, String, URL) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("changing.json")
            try replace(file, first)
            try await withOrigin(size: 1_000) { origin in
                try await withProxy(file.path, to: origin, options) { try await body($0, $1, file) }
            }
        }
    }

    @Test func `with --watch a profile that changes is in effect at once, however it was written`() async throws {
        try await withChangingProxy(["--watch"], profile(status: nil)) { proxy, address, file in
            #expect(try await status(address) == "200")
            try replace(file, profile(status: 501))
            let line = try await proxy.line(with: "reloaded: ")
            #expect(line == "reloaded: profile “changing” (generation 2): added answer")
            #expect(try await status(address) == "501")
            // In the same file, in two steps.
            let text = Array(profile(status: 502).utf8)
            let handle = try FileHandle(forWritingTo: file)
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: text.prefix(20))
            try handle.write(contentsOf: text.dropFirst(20))
            try handle.close()
            #expect(
                try await proxy.line(with: "reloaded: ")
                    == "reloaded: profile “changing” (generation 3): changed answer"
            )
            #expect(try await status(address) == "502")
            try replace(file, profile(status: nil))
            #expect(try await proxy.line(with: "reloaded: ").hasSuffix("(generation 4): removed answer"))
            #expect(try await status(address) == "200")
            proxy.signal(SIGTERM)
            #expect(await proxy.finish().status == 0)
        }
    }

    @Test func `a profile with problems is told of once, and changes nothing`() async throws {
        try await withChangingProxy(["--watch"], profile(status: 501)) { proxy, address, file in
            try replace(file, #"{ "name": "changing", "faults": [ { "kind": "latncy" } ] }"#)
            #expect(try await proxy.errorLine(with: "latncy").hasPrefix("\(file.path):1:45: "))
            let complaint = try await proxy.errorLine(with: "can't be used")
            #expect(complaint == "squall: the profile “\(file.path)” can't be used, and nothing has changed")
            #expect(try await status(address) == "501")
            // A missing file is another problem.
            try FileManager.default.removeItem(at: file)
            _ = try await proxy.errorLine(with: "can't read the profile")
            try replace(file, profile(status: 503))
            #expect(try await proxy.line(with: "reloaded: ").hasSuffix("(generation 2): changed answer"))
            #expect(try await status(address) == "503")
            proxy.signal(SIGINT)
            let outcome = await proxy.finish()
            #expect(outcome.errors.components(separatedBy: "can't be used").count == 3, "each once")
        }
    }

    @Test func `at SIGHUP the profile is read again, and without --watch only then`() async throws {
        try await withChangingProxy([], profile(status: nil)) { proxy, address, file in
            proxy.signal(SIGHUP)
            #expect(try await proxy.line(with: "reloaded: ") == "reloaded: profile “changing”, nothing has changed")
            try replace(file, profile(status: 501))
            proxy.signal(SIGHUP)
            _ = try await proxy.line(with: "(generation 2): added answer")
            #expect(try await status(address) == "501")
            try replace(file, "{")
            proxy.signal(SIGHUP)
            _ = try await proxy.errorLine(with: "can't be used")
            #expect(try await status(address) == "501")
            proxy.signal(SIGTERM)
            #expect(await proxy.finish().status == 0)
        }
    }

    @Test func `the faults of options stay when the profile is read again`() async throws {
        let options = ["--latency", "1ms", "--outage", "1h..2h"]
        try await withChangingProxy(options, profile(status: nil)) { proxy, address, file in
            try replace(file, profile(status: 501))
            proxy.signal(SIGHUP)
            let line = try await proxy.line(with: "reloaded: ")
            #expect(line == "reloaded: profile “changing” (generation 2): added answer")
            #expect(try await status(address) == "501")
        }
    }

    @Test func `without a file SIGHUP changes nothing, and says why`() async throws {
        for (given, reason) in [
            (["--latency", "1ms"], "the faults of options have no file to read again"),
            (["-"], "standard input can't be read again"),
        ] {
            try await withFolder { folder in
                let file = folder.appendingPathComponent("changing.json")
                try replace(file, profile(status: nil))
                let script = #"input=$1; shift; exec "$0" run "$@" --listen :0 --upstream :9 < "$input""#
                let arguments = ["-c", script, Programs.squall.path, file.path] + given
                try await withChild(Programs.find("sh"), arguments) { proxy in
                    _ = try await proxy.line(with: "ready: ")
                    proxy.signal(SIGHUP)
                    let line = try await proxy.errorLine(with: "again")
                    #expect(line.hasPrefix("squall: \(reason): nothing has changed ("))
                    proxy.signal(SIGTERM)
                    #expect(await proxy.finish().status == 0)
                }
            }
        }
    }

    @Test func `what can't change while proxies run is told, and changes nothing`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("two.json")
            func text(_ proxies: String, _ rest: String = #""seed": 3"#) -> String {
                #"{ "name": "two", \#(rest), "proxies": [ \#(proxies) ] }"#
            }
            let first = #"{ "name": "a", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9" }"#
            let other = #"{ "name": "b", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9" }"#
            try replace(file, text(first))
            try await withChild(Programs.squall, ["run", file.path]) { proxy in
                _ = try await proxy.line(with: "ready: ")
                let refused = [
                    (text(first + ", " + other), "proxies can't be added, taken away or renamed while they run: "),
                    (text(other), "proxies can't be added, taken away or renamed while they run: "),
                    (
                        text(first.replacing(":9", with: ":8")),
                        "the addresses of the proxy “a” can't change while it runs: "
                    ),
                    (
                        text(first, #""seed": 4, "faults": [ { "kind": "cut", "at": "1 B" } ]"#),
                        "the seed can't change "
                    ),
                ]
                for (text, reason) in refused {
                    try replace(file, text)
                    proxy.signal(SIGHUP)
                    let line = try await proxy.errorLine(with: "start squall run again for that")
                    #expect(line.hasPrefix("squall: \(reason)"))
                }
                try replace(file, text(first, #""faults": [ { "kind": "cut", "at": "1 B" } ]"#))
                proxy.signal(SIGHUP)
                _ = try await proxy.line(with: "(generation 2): added cut")
            }
        }
    }

    @Test func `the mode of a Unix socket doesn't keep a profile from being read again, and can't change`()
        async throws
    {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("socket.json")
            func text(_ status: Int, _ mode: String) -> String {
                let proxy = #"{ "name": "a", "listen": "unix:s"\#(mode), "upstream": "127.0.0.1:9" }"#
                return profile(status: status, #", "proxies": [ \#(proxy) ]"#)
            }
            let given = ["--listen", "unix:s", "--listen-mode", "0660", "--upstream", "127.0.0.1:9"]
            for (options, mode) in [(given, ""), ([], #", "mode": "0666""#), ([], "")] {
                try replace(file, text(501, mode))
                let arguments = ["run", file.path] + options
                try await withChild(Programs.squall, arguments, folder: folder) { proxy in
                    _ = try await proxy.line(with: "ready: ")
                    try replace(file, text(502, mode))
                    proxy.signal(SIGHUP)
                    let line = try await proxy.line(with: "reloaded: ")
                    #expect(line == "reloaded: profile “changing” (generation 2): changed answer")
                    if options.isEmpty {
                        try replace(file, text(503, #", "mode": "0640""#))
                        proxy.signal(SIGHUP)
                        let line = try await proxy.errorLine(with: "start squall run again for that")
                        #expect(line.hasPrefix("squall: the mode of the proxy “a” can't change while it runs: "))
                    }
                    proxy.signal(SIGTERM)
                    #expect(await proxy.finish().status == 0)
                }
            }
        }
    }

    @Test func `the bases of a profile are watched as well, those included that aren't there yet`() async throws {
        let extending = #"{ "name": "changing", "extends": "./base.json" }"#
        try await withChangingProxy(["--watch"], profile(status: 501)) { proxy, address, file in
            try replace(file, extending)
            _ = try await proxy.errorLine(with: "can't be used")
            let base = file.deletingLastPathComponent().appendingPathComponent("base.json")
            try replace(base, profile(status: 502))
            _ = try await proxy.line(with: "(generation 2): changed answer")
            try replace(base, profile(status: 503))
            _ = try await proxy.line(with: "(generation 3): changed answer")
            #expect(try await status(address) == "503")
        }
    }

    @Test func `a journal over which the profile changed is not replayed`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("journal.jsonl").path
            try await withChangingProxy(["--journal", journal], profile(status: 501)) { proxy, address, file in
                #expect(try await status(address) == "501")
                try replace(file, profile(status: 502))
                proxy.signal(SIGHUP)
                _ = try await proxy.line(with: "(generation 2)")
                #expect(try await status(address) == "502")
                proxy.signal(SIGTERM)
                #expect(await proxy.finish().status == 0)
            }
            let lines = try String(contentsOfFile: journal, encoding: .utf8).split(separator: "\n")
            #expect(lines.count == 4)
            #expect(lines[2].contains(#""event":"profile","generation":2,"profile":{"name":"changing""#))
            for command in [["replay", journal], ["shrink", journal, "--", "true"]] {
                let outcome = try await squall(command, folder: folder)
                #expect(outcome.status == 2)
                #expect(
                    outcome.errors.hasPrefix("\(journal):3: the network was changed here while the journal was written")
                )
            }
        }
    }
}
