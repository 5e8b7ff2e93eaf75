import Foundation
import Glibc
import Testing

/// What becomes of output that can't be written, and of files that it would be written over.
@Suite(.timeLimit(.minutes(1))) struct OutputTests {
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

    @Test func `a reader that has seen enough is no failure`() async throws {
        let outcome = try await run("sh", ["-c", "\"$0\" profiles | head -1", Programs.squall.path])
        #expect(outcome.status == 0)
        #expect(outcome.output == "Scenarios\n")
        #expect(outcome.errors.isEmpty)
    }

    @Test func `a start that fails leaves the journal of the last run as it was`() async throws {
        try await withFolder { folder in
            let journal = folder.appendingPathComponent("journal.jsonl")
            try Data("of the last run\n".utf8).write(to: journal)
            try await withProxy("slow-3g", to: "127.0.0.1:9") { _, address in
                let options = ["--upstream", "127.0.0.1:9", "--journal", journal.path]
                let second = try await withChild(Programs.squall, ["run", "slow-3g", "--listen", address] + options) {
                    await $0.finish()
                }
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

    @Test func `a journal isn't written over the profile, by whatever path`() async throws {
        try await withFolder { folder in
            let profile = folder.appendingPathComponent("p.json")
            let text = #"{ "name": "x" }"#
            try Data(text.utf8).write(to: profile)
            let arguments = ["run", "./p.json", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9"]
            let outcome = try await withChild(
                Programs.squall,
                arguments + ["--journal", profile.path],
                folder: folder
            ) { await $0.finish() }
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("would be written over “./p.json”, which is read: name another file"))
            #expect(try String(contentsOf: profile, encoding: .utf8) == text)
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

    @Test func `nobody who reads standard error stops neither connections nor the end`() async throws {
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
