import Foundation
import Glibc
import Journal
import Testing

/// `squall replay`: re-injected faults of a journal.
@Suite(.timeLimit(.minutes(5))) struct ReplayTests {
    private static let profile = """
        { "name": "busy", "faults": [
            { "kind": "cut", "stream": "downstream", "between": ["5 KB", "190 KB"], "when": { "chance": "60 %" } },
            { "kind": "stall", "stream": "downstream", "at": "3 KB", "for": "2 ms", "when": { "chance": "50 %" } },
            { "kind": "latency", "delay": "1 ms" } ] }
        """

    /// Twenty requests in sequence, one per connection.
    private func fetch(_ address: String) async throws {
        let arguments = ["-s", "-H", "Connection: close", "-o", "/dev/null", "http://\(address)/file.bin?[1-20]"]
        _ = try await run("curl", arguments)
    }

    private func replay(_ recording: URL, to journal: URL, _ options: [String] = []) async throws {
        let arguments = ["replay", recording.path, "--journal", journal.path] + options
        try await withChild(Programs.squall, arguments) { child in
            let line = try await child.line(with: "ready: ")
            let address = try #require(line.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
            try await fetch(String(address))
            child.signal(SIGINT)
            #expect(await child.finish().status == 0)
        }
    }

    @Test func `a journal replays 20 times of 20 with the same faults at the same bytes`() async throws {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 200_000) { origin in
                try await withProxy(ReplayTests.profile, to: origin, ["--journal", recording.path, "--seed", "7"]) {
                    proxy,
                    address in
                    try await fetch(address)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                let first = try journal(at: recording)
                #expect(first.count { $0.what == "resets" } > 5)
                #expect(first.count { $0.what == "stalls" } > 5)
                var same = 0
                for number in 0..<20 {
                    let again = folder.appendingPathComponent("again-\(number).jsonl")
                    try await replay(recording, to: again)
                    if try journal(at: again) == first { same += 1 }
                }
                #expect(same == 20)
            }
        }
    }

    @Test func `the journal of a replay is replayed as well, and what a run was told stays told`() async throws {
        try await withFolder { folder in
            let (recording, again) = (
                folder.appendingPathComponent("a.jsonl"), folder.appendingPathComponent("b.jsonl")
            )
            try await withOrigin(size: 200_000) { origin in
                let options = ["--journal", recording.path, "--seed", "18446744073709551615", "--name", "web"]
                try await withProxy(ReplayTests.profile, to: origin, options) { proxy, address in
                    try await fetch(address)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                try await replay(
                    recording,
                    to: again,
                    ["--listen", "127.0.0.1:0", "--upstream", origin, "--name", "web"]
                )
                #expect(try journal(at: again) == journal(at: recording))
                #expect(try journal(at: recording).count { $0.what == "resets" } > 1, "a fault strikes several times")
                let third = folder.appendingPathComponent("c.jsonl")
                try await replay(again, to: third)
                #expect(try journal(at: third) == journal(at: recording))
                let arguments = ["shrink", third.path, "--", "true"]
                let shrink = try await squall(arguments, folder: folder)
                #expect(shrink.errors.contains("the command doesn't fail with all"), "\(shrink.errors)")
                // The recorded profile explains all lines.
                let header = try header(of: recording)
                #expect(try self.header(of: again) == header)
                #expect(try self.header(of: third) == header)
                #expect(header.proxies == [.init(name: "web", seed: .max, upstream: origin)])
                #expect(header.profile.name == "busy")
                #expect(header.digest.wholeMatch(of: /[0-9a-f]{64}/) != nil)
                #expect(header.version.wholeMatch(of: /[0-9.]+/) != nil)
            }
        }
    }

    private func header(of journal: URL) throws -> JournalHeader {
        let line = try #require(String(contentsOf: journal, encoding: .utf8).split(separator: "\n").first)
        return try #require(try decoded([String(line)], as: JournalHeader.self).first)
    }

    /// The first phase has no faults, the last refuses connections.
    private static let gone = """
        { "name": "gone", "phases": [
            { "name": "calm", "for": "1 min" },
            { "name": "gone", "faults": [ { "kind": "outage", "how": "refuse" } ] } ] }
        """

    @Test(arguments: [("2020-02-29T12:00:00Z", 7), ("+100h", 0)])
    func `a replay begins where the clock was when its run began`(start: String, status: Int32) async throws {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 1_000) { origin in
                let options = ["--journal", recording.path, "--start-at", start]
                try await withProxy(ReplayTests.gone, to: origin, options) { proxy, address in
                    let curl = try await run("curl", ["-s", "http://\(address)/file.bin"])
                    #expect(curl.status == status)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                try await withChild(Programs.squall, ["replay", recording.path]) { child in
                    let line = try await child.line(with: "ready: ")
                    #expect(line.contains(start == "+100h" ? ", clock starts in 359" : ", clock started"), "\(line)")
                    let address = try #require(line.firstMatch(of: /127\.0\.0\.1:[0-9]+/)).output
                    let curl = try await run("curl", ["-s", "http://\(address)/file.bin"])
                    #expect(curl.status == status)
                }
                let client = ["curl", "-s", "http://{proxy}/file.bin"]
                let arguments = ["shrink", recording.path, "--"] + client
                let shrink = try await squall(arguments, folder: folder)
                #expect(shrink.status == (status == 0 ? 2 : 0))
                #expect(shrink.errors.contains("tells of no fault") == (status == 0))
            }
        }
    }

    @Test func `a replay listens with TLS where the run did, whatever its upstream`() async throws {
        try await withFolder { folder in
            let environment = ["TMPDIR": folder.path]
            let sides = ["--listen", "tls:127.0.0.1:0", "--upstream", "127.0.0.1:9"]
            let recorded = ["run", "slow-3g", "--journal", "journal.jsonl"] + sides
            for arguments in [recorded, ["replay", "journal.jsonl"], ["replay", "journal.jsonl"] + sides.suffix(2)] {
                try await withChild(Programs.squall, arguments, environment: environment, folder: folder) { child in
                    let line = try await child.line(with: "ready: ")
                    #expect(line.hasPrefix("ready: tls:127.0.0.1:"), "\(line)")
                    child.signal(SIGINT)
                    #expect(await child.finish().status == 0)
                }
            }
        }
    }

    @Test func `a replay has the limits that it is given`() async throws {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            let slow = #"{ "name": "slow", "faults": [ { "kind": "latency", "delay": "500 ms" } ] }"#
            try await withOrigin(size: 1_000) { origin in
                try await withProxy(slow, to: origin, ["--journal", recording.path]) { proxy, _ in
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                let arguments = ["replay", recording.path, "--connection-limit", "1"]
                try await withChild(Programs.squall, arguments) { child in
                    let url = "http://\(try address(in: await child.line(with: "ready: ")))/file.bin?[1-2]"
                    let both = ["-s", "-o", "/dev/null", "--parallel", "--parallel-immediate", url]
                    #expect(try await run("curl", both).status != 0, "one of two at a time is reset")
                    _ = try await child.errorLine(with: "1 connections are open, which is the limit")
                }
            }
        }
    }

    @Test func `the profile may be given, and must be the journal's`() async throws {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            try await withProxy("slow-3g", to: "127.0.0.1:9", ["--journal", recording.path]) { proxy, _ in
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            let arguments = ["replay", recording.path, "--profile", "slow-3g"]
            try await withChild(Programs.squall, arguments) { child in _ = try await child.line(with: "ready: ") }
            let other = try await squall("replay", recording.path, "--profile", "elevator")
            #expect(other.status == 2)
            #expect(other.errorLines.count == 1)
            #expect(other.errors.contains("was made with another profile than “elevator”"))
        }
    }
}
