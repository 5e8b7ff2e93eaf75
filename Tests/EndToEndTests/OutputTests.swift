import Foundation
import Glibc
import Testing

/// Failed writes, and outputs that would overwrite inputs.
@Suite(.timeLimit(.minutes(5))) struct OutputTests {
    @Test(arguments: [
        ["profiles"], ["profiles", "slow-3g"], ["check", "slow-3g"], ["plan", "slow-3g", "--size", "1KiB"],
        ["plan", "slow-3g", "--size", "1KiB", "--events", "json"], ["--version"], ["help", "run"],
    ])
    func `standard output that can't be written is exit 1, with the reason`(arguments: [String]) async throws {
        for (place, reason) in [("/dev/full", "No space left on device"), ("&-", "Bad file descriptor")] {
            let outcome = try await run("sh", ["-c", "exec \"$0\" \"$@\" >\(place)", Programs.squall.path] + arguments)
            #expect(outcome.status == 1)
            #expect(outcome.errorLines.count == 1)
            #expect(outcome.errors.hasPrefix("squall: can't write to standard output: \(reason) (write, errno "))
        }
    }

    @Test func `a report that can't be written is an error besides that of the profile`() async throws {
        let script = #"exec "$0" check --format github none-such >/dev/full"#
        let outcome = try await run("sh", ["-c", script, Programs.squall.path])
        #expect(outcome.status == 2 && outcome.errors.hasPrefix("squall: can't write to standard output: "))
    }

    @Test(arguments: [
        ["run", "slow-3g", "--journal", "a", "--pcap", "./a"], ["run", "slow-3g", "--pcap", "a", "--key-log", "a"],
        ["exec", "slow-3g", "--journal", "a", "--pcap", "a", "--", "true"],
        ["plan", "slow-3g", "--size", "1KiB", "--svg", "a", "--png", "a"],
    ])
    func `no output is written over another one`(arguments: [String]) async throws {
        try await withFolder { folder in
            let addresses = arguments[0] == "run" ? OutputTests.addresses : []
            let outcome = try await squall(arguments + addresses, folder: folder)
            #expect(outcome.status == 2 && outcome.errors.contains("is named twice, for "), "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test func `outputs may share a device`() async throws {
        let options = ["--journal", "/dev/null", "--pcap", "/dev/null"]
        try await withProxy("slow-3g", to: "127.0.0.1:9", options) { proxy, _ in
            proxy.signal(SIGINT)
            #expect(await proxy.finish().status == 0)
        }
    }

    @Test func `a reader that has seen enough is no failure`() async throws {
        let outcome = try await run("sh", ["-c", "\"$0\" profiles | head -1", Programs.squall.path])
        #expect(outcome.status == 0)
        #expect(outcome.output == "Profiles\n")
        #expect(outcome.complaints.isEmpty)
    }

    @Test func `a reader of the journal that has seen enough is no failure`() async throws {
        try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", "-"], isHeard: false) { proxy, address in
            for _ in 1...3 { _ = try await run("curl", ["-s", "http://\(address)/"]) }
            proxy.signal(SIGINT)
            let outcome = await proxy.finish()
            #expect(outcome.status == 0)
            #expect(outcome.errorLines.allSatisfy { $0.hasPrefix("ready: ") }, "\(outcome.errors)")
        }
    }

    @Test func `a journal that another squall writes is exit 1, and stays untouched`() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("journal.jsonl")
            try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", path.path]) { proxy, address in
                let options = OutputTests.addresses + ["--journal", path.path]
                let second = try await squall(["run", "slow-3g"] + options)
                #expect(second.status == 1)
                let other = "squall: another squall writes the journal “\(path.path)”: wait for its end, "
                #expect(second.errors == other + "or name another file\n")
                _ = try await run("curl", ["-s", "http://\(address)/"])
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            #expect(try journal(at: path).map(\.what) == ["refuses"])
        }
    }

    @Test func `a start that fails leaves the journal of the last run as it was`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("journal.jsonl")
            try Data("of the last run\n".utf8).write(to: journal)
            try await withProxy("slow-3g", to: "127.0.0.1:9") { _, address in
                let options = ["--upstream", "127.0.0.1:9", "--journal", journal.path]
                let second = try await squall(["run", "slow-3g", "--listen", address] + options)
                #expect(second.status == 1)
            }
            #expect(try String(contentsOf: journal, encoding: .utf8) == "of the last run\n")
            try await withProxy("slow-3g", to: "127.0.0.1:9", ["--journal", journal.path]) { proxy, _ in
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            #expect(try String(contentsOf: journal, encoding: .utf8).hasPrefix(#"{"digest":"#))
        }
    }

    /// A folder of profiles, of which one extends another and has a trace.
    private func withProfiles(_ body: (URL) async throws -> Void) async throws {
        try await withFolder { folder in
            let files = [
                "p.json": #"{ "name": "p", "faults": [ { "kind": "cut", "at": "1 KB" } ] }"#,
                "child.json": """
                { "name": "child", "extends": "./p.json",
                  "faults": [ { "kind": "trace", "stream": "downstream", "file": "t.trace" } ] }
                """,
                "t.trace": "1\n2\n",
            ]
            for (name, text) in files { try Data(text.utf8).write(to: folder.appendingPathComponent(name)) }
            try await body(folder)
        }
    }

    private static let addresses = ["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9"]

    @Test(arguments: [
        ["run", "./p.json", "--journal", "p.json"], ["run", "p", "--journal", "p.json"],
        ["run", "child.json", "--journal", "p.json"], ["run", "child.json", "--journal", "t.trace"],
        ["plan", "p.json", "--size", "1KiB", "--svg", "p.json"], ["plan", "p", "--size", "1KiB", "--svg", "p.json"],
    ])
    func `nothing is written over a profile, over one that it extends, or over its trace`(
        arguments: [String]
    ) async throws {
        try await withProfiles { folder in
            let file = folder.appendingPathComponent(try #require(arguments.last))
            let before = try Data(contentsOf: file)
            // By another path than the input's.
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("link"),
                withDestinationURL: file
            )
            var options = Array(arguments.dropLast()) + ["link"]
            if arguments[0] == "run" { options += OutputTests.addresses }
            let outcome = try await squall(options, environment: ["SQUALL_PROFILES": folder.path], folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errorLines.count == 1)
            let name = file.lastPathComponent
            #expect(outcome.errors.contains("\(name)”, which is read: name another file"), "\(outcome.errors)")
            #expect(try Data(contentsOf: file) == before)
        }
    }

    @Test(arguments: ["child.json", "p.json", "t.trace", "journal.jsonl"])
    func `nothing is written over what a replay reads`(name: String) async throws {
        try await withProfiles { folder in
            let options = ["child.json", "--journal", "journal.jsonl"] + OutputTests.addresses
            try await withChild(Programs.squall, ["run"] + options, folder: folder) { proxy in
                _ = try await proxy.line(with: "ready: ")
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            let file = folder.appendingPathComponent(name)
            let before = try Data(contentsOf: file)
            let replay = ["journal.jsonl", "--profile", "child.json", "--listen", "127.0.0.1:0", "--journal", name]
            let outcome = try await squall(["replay"] + replay, folder: folder)
            #expect(outcome.status == 2)
            #expect(outcome.errors.hasPrefix("squall: the journal would be written over “"), "\(outcome.errors)")
            #expect(try Data(contentsOf: file) == before)
        }
    }

    @Test func `a journal that is read is not written over`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("shrunk.jsonl")
            try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", journal.path]) { proxy, address in
                _ = try await run("curl", ["-s", "http://\(address)/"])
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            let before = try Data(contentsOf: journal)
            try FileManager.default.createSymbolicLink(
                at: folder.appendingPathComponent("link"),
                withDestinationURL: journal
            )
            let replayed = try await squall("replay", "shrunk.jsonl", "--journal", "link", folder: folder)
            let shrunk = try await squall("shrink", "shrunk.jsonl", "--", "true", folder: folder)
            for outcome in [replayed, shrunk] {
                #expect(outcome.status == 2)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.contains("would be written over"))
            }
            #expect(try Data(contentsOf: journal) == before)
        }
    }

    @Test func `an unread standard error blocks neither connections nor the shutdown`() async throws {
        try await withFolder { folder in
            let path = folder.appendingPathComponent("errors").path
            #expect(mkfifo(path, 0o600) == 0)
            let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
            defer { close(pipe) }
            let block = [UInt8](repeating: 10, count: 4_096)
            while write(pipe, block, block.count) > 0 {}
            let profile = folder.appendingPathComponent("p.json").path
            try Data(#"{ "name": "x" }"#.utf8).write(to: URL(fileURLWithPath: profile))
            let options = ["run", profile, "--threads", "1", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"]
            let script = "exec \"$0\" \"$@\" 2>\(path)"
            let arguments = ["-c", script, Programs.squall.path] + options
            try await withChild(Programs.find("sh"), arguments) { child in
                let place = try address(in: await child.line(with: "ready: "))
                for _ in 1...3 {
                    let curl = try await run("curl", ["-s", "-m", "20", "http://\(place)/"])
                    #expect([7, 52, 55, 56].contains(curl.status), "a reset, and no time-out: \(curl.status)")
                }
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
        }
    }
}
