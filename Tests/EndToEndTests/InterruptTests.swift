import Foundation
import Glibc
import Testing

/// Signals that stop a command, and SIGHUP.
@Suite(.timeLimit(.minutes(5))) struct InterruptTests {
    @Test func `a terminal that closes ends origin with exit 0`() async throws {
        try await withFolder { folder in
            try await withChild(Programs.squall, ["origin", folder.path]) { origin in
                _ = try await origin.line(with: "ready: ")
                origin.signal(SIGHUP)
                #expect(await origin.finish().status == 0)
            }
        }
    }

    @Test func `a terminal that closes ends run with exit 0, although SIGHUP without that doesn't`() async throws {
        try await withFolder { folder in
            let terminal = try PseudoTerminal(isShown: false)
            let journal = folder.appendingPathComponent("journal.jsonl")
            // The new session has the terminal as its controlling one.
            let command = [
                "-c", "exec setsid --ctty \"$0\" \"$@\" <\(terminal.path)", Programs.squall.path, "run", "slow-3g",
                "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9", "--journal", journal.path,
            ]
            try await withChild(Programs.find("sh"), command) { proxy in
                _ = try await proxy.line(with: "ready: ")
                proxy.signal(SIGHUP)
                _ = try await proxy.line(with: "reloaded: ")
                terminal.disconnect()
                #expect(await proxy.finish().status == 0)
            }
            #expect(try Data(contentsOf: journal).last == UInt8(ascii: "\n"), "the journal is complete")
        }
    }

    @Test func `a second signal ends a command that waits for a reader which takes nothing`() async throws {
        try await withOrigin(size: 300_000) { origin in
            try await withFolder { folder in
                let path = folder.appendingPathComponent("fifo").path
                try #require(mkfifo(path, 0o600) == 0)
                let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                defer { close(reader) }
                try await withProxy("{ \"name\": \"none\" }", to: origin, ["--pcap", path]) { proxy, address in
                    func download() async throws -> Int32 {
                        try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"]).status
                    }
                    #expect(try await download() == 0)
                    proxy.signal(SIGTERM)
                    // Connections are refused when it has stopped.
                    while try await download() != 7 {}
                    await proxy.insist(SIGTERM)
                    #expect(await proxy.finish().status == 143)
                }
            }
        }
    }

    @Test func `a command that nohup started outlives its terminal`() async throws {
        try await withFolder { folder in
            try bytes(1_000).write(to: folder.appendingPathComponent("file.bin"))
            let arguments = [Programs.squall.path, "origin", folder.path]
            try await withChild(Programs.find("nohup"), arguments) { origin in
                let address = try #require(try await origin.line(with: "ready: ").firstMatch(of: /http:[^ ]+/)).output
                for _ in 0..<2 {
                    origin.signal(SIGHUP)
                    let outcome = try await squall("get", "\(address)/file.bin", folder: folder)
                    #expect(outcome.status == 0)
                }
                origin.signal(SIGTERM)
                #expect(await origin.finish().status == 0)
            }
        }
    }
}
