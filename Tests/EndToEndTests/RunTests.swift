import Foundation
import Glibc
import Testing

/// `squall run`: output, exit codes, journal.
@Suite(.timeLimit(.minutes(5))) struct RunTests {
    private static let cut = """
        { "name": "cut", "faults": [
            { "kind": "cut", "stream": "downstream", "at": "10 KB", "how": "reset" } ] }
        """
    private static let dicey = """
        { "name": "dicey", "faults": [
            { "kind": "cut", "stream": "downstream", "between": ["10 KB", "300 KB"], "when": { "chance": "60 %" } },
            { "kind": "stall", "stream": "downstream", "at": "5 KB", "for": "5 ms", "when": { "chance": "50 %" } },
            { "kind": "latency", "delay": "1 ms", "jitter": "1 ms", "when": { "chance": "50 %" } } ] }
        """

    @Test func `the ready line tells where it listens, where to, and the seed`() async throws {
        try await withChild(
            Programs.squall,
            ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9", "--seed", "5", "--name", "web"]
        ) { proxy in
            let line = try await proxy.line(with: "ready")
            let rest = "-> 127.0.0.1:9 (proxy “web”, profile “slow-3g”, seed 5)"
            #expect(line.firstMatch(of: #/^ready: 127\.0\.0\.1:[1-9][0-9]* /#) != nil)
            #expect(line.hasSuffix(rest))
        }
    }

    @Test func `a profile that defines proxies needs no addresses, and each gets a ready line`() async throws {
        try await withFolder { folder in
            let profile = """
                { "name": "two", "proxies": [
                    { "name": "web", "listen": "127.0.0.1:0", "upstream": "127.0.0.1:9" },
                    { "name": "database", "listen": "[::1]:0", "upstream": "[::1]:9" } ] }
                """
            try Data(profile.utf8).write(to: folder.appendingPathComponent("two.json"))
            try await withChild(Programs.squall, ["run", "./two.json"], folder: folder) { proxy in
                let first = try await proxy.line(with: "ready")
                let second = try await proxy.line(with: "ready")
                #expect(first.contains("“web”"))
                #expect(second.contains("“database”"))
            }
        }
    }

    @Test(arguments: [
        ("127.0.0.1:9", "127.0.0.1:9", "the proxy “proxy” would forward to itself: "),
        ("0.0.0.0:9", "127.0.0.2:9", "the proxy “proxy” would forward to itself: "),
        ("localhost:9", "localhost:9", "the proxy “proxy” would forward to itself: "),
        ("[::]:9", "[0:0:0:0:0:0:0:1]:9", "the proxy “proxy” would forward to itself: "),
        ("nonexistent.invalid:0", "127.0.0.1:9", "can't find the address of “nonexistent.invalid”: "),
    ])
    func `an address that can't be right is exit 2`(listen: String, upstream: String, reason: String) async throws {
        let arguments = ["run", "slow-3g", "--listen", listen, "--upstream", upstream]
        let outcome = try await squall(arguments)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("squall: \(reason)"))
        #expect(outcome.errorLines.count == 1)
    }

    @Test func `a server's name that has no address yet is waited for, with a warning`() async throws {
        let arguments = ["run", "slow-3g", "--listen", ":0", "--upstream", "nonexistent.invalid:9"]
        try await withChild(Programs.squall, arguments) { proxy in
            let ready = try await proxy.line(with: "ready: ")
            #expect(ready.contains(" -> nonexistent.invalid:9 "))
            let place = try address(in: ready)
            #expect(try await run("curl", ["-s", "http://\(place)/"]).status != 0)
            proxy.signal(SIGINT)
            let outcome = await proxy.finish()
            #expect(outcome.status == 0)
            #expect(outcome.errors.hasPrefix("squall: can't find the address of “nonexistent.invalid”: "))
            #expect(outcome.errors.contains("trying again once a second"))
        }
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a signal ends it with exit 0 and a complete journal`(number: Int32) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("journal.jsonl")
            try await withOrigin(size: 50_000) { origin in
                try await withProxy(RunTests.cut, to: origin, ["--journal", file.path]) { proxy, address in
                    for _ in 0..<20 {
                        _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                    }
                    proxy.signal(number)
                    let outcome = await proxy.finish()
                    #expect(outcome.status == 0)
                    #expect(outcome.complaints.isEmpty)
                }
            }
            let expected = (1...20).map {
                JournalLine(
                    proxy: "proxy",
                    connection: $0,
                    direction: "downstream",
                    fault: "cut",
                    offset: 10_000,
                    what: "resets"
                )
            }
            #expect(try journal(at: file) == expected)
        }
    }

    @Test func `the same seed gives the same journal, another seed another one`() async throws {
        func lines(seed: String) async throws -> [JournalLine] {
            try await withFolder { folder in
                let file = folder.appendingPathComponent("journal.jsonl")
                try await withOrigin(size: 400_000) { origin in
                    let options = ["--seed", seed, "--journal", file.path]
                    try await withProxy(RunTests.dicey, to: origin, options) { proxy, address in
                        for _ in 0..<12 {
                            _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                        }
                        proxy.signal(SIGINT)
                        #expect(await proxy.finish().status == 0)
                    }
                }
                return try journal(at: file)
            }
        }
        let first = try await lines(seed: "1")
        let second = try await lines(seed: "1")
        let other = try await lines(seed: "2")
        #expect(first == second)
        #expect(first.count > 12)
        #expect(first != other)
    }

    @Test func `a journal that can't be written is told at the start, one that fails later at the end`() async throws {
        let missing = try await squall(
            words: "run slow-3g --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --journal /nowhere/journal"
        )
        #expect(missing.status == 2)
        #expect(missing.errors.contains("can't write the journal “/nowhere/journal”: No such file or directory"))
        try await withOrigin(size: 50_000) { origin in
            try await withProxy(RunTests.cut, to: origin, ["--journal", "/dev/full"]) { proxy, address in
                _ = try await run("curl", ["-s", "-o", "/dev/null", "http://\(address)/file.bin"])
                proxy.signal(SIGINT)
                let outcome = await proxy.finish()
                #expect(outcome.status == 1)
                #expect(outcome.complaints.count == 2)
                #expect(outcome.errors.contains("the journal is incomplete: No space left on device (write, errno 28)"))
            }
        }
    }

    private static let twoPhases = """
        { "name": "two phases", "phases": [
            { "name": "cut", "for": "1 min", "faults": [ { "kind": "cut", "stream": "downstream", "at": "0 B" } ] },
            { "name": "gone", "faults": [ { "kind": "outage", "how": "refuse" } ] } ] }
        """

    @Test func `proxies that are told a time are in step: long ago is the last phase, to come is none`() async throws {
        try await withOrigin(size: 1_000) { origin in
            let past = ["--start-at", "2020-02-29T12:00:00Z"]
            try await withProxy(RunTests.twoPhases, to: origin, past + ["--journal", "-"]) { proxy, address in
                _ = try await proxy.line(with: "refuses")
                let curl = try await run("curl", ["-s", "http://\(address)/file.bin"])
                #expect(curl.status == 7)
            }
            for start in ["2190-01-01T00:00:00.5+02:00", "+100h"] {
                try await withProxy(RunTests.twoPhases, to: origin, ["--start-at", start]) { _, address in
                    let curl = try await run("curl", ["-s", "-f", "http://\(address)/file.bin"])
                    #expect(curl.status == 0)
                }
            }
        }
    }

    @Test(arguments: [("2020-02-29T12:00:00Z", "clock started", "ago"), ("+100h", "clock starts in 359", "s")])
    func `the ready line tells when the clock starts`(start: String, begin: String, end: String) async throws {
        let options = ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:9", "--start-at", start]
        try await withChild(Programs.squall, options) { proxy in
            let line = try await proxy.line(with: "ready")
            #expect(line.contains(", \(begin)") && line.hasSuffix(" \(end))"), "\(line)")
        }
    }

    @Test(arguments: [
        ("tomorrow", "“tomorrow” is not a time of RFC 3339: write one such as “2026-11-21T18:00:00Z”"),
        ("2026-11-21T18:00:00", "“2026-11-21T18:00:00” has no time zone: add Z for UTC, or one such as +01:00"),
        ("+5", "“5” has no unit: write “5 ms” or “5 s”"),
    ])
    func `a start that can't be read is exit 2, with what to write`(start: String, problem: String) async throws {
        let outcome = try await squall(
            words: "run slow-3g --listen 127.0.0.1:0 --upstream 127.0.0.1:9 --start-at \(start)"
        )
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(problem), "\(outcome.errors)")
    }

    @Test func `a port that is taken is exit 1 and one line with what to do`() async throws {
        try await withProxy("slow-3g", to: "127.0.0.1:9") { _, address in
            let port = try #require(address.split(separator: ":").last)
            let second = try await squall("run", "slow-3g", "--listen", address, "--upstream", "127.0.0.1:9")
            let origin = try await squall("origin", "/", "--port", String(port))
            for outcome in [second, origin] {
                #expect(outcome.status == 1)
                #expect(outcome.output.isEmpty)
                #expect(outcome.errorLines.count == 1)
                #expect(outcome.errors.hasPrefix("squall: "))
                #expect(outcome.errors.contains(address))
                #expect(outcome.errors.contains("errno 98"))
                #expect(outcome.errors.contains("another"))
            }
        }
    }

    @Test func `a server that can't be reached is told, and mirrored as a reset`() async throws {
        try await withProxy("dead-server", to: "127.0.0.1:9", ["--journal", "-"]) { dead, upstream in
            _ = try await dead.line(with: "refuses")
            try await withProxy("{ \"name\": \"plain\" }", to: upstream) { proxy, address in
                let curl = try await run("curl", ["-s", "http://\(address)/"])
                // A reset while sending or receiving, depending on when curl notices; never while connecting.
                #expect([52, 55, 56].contains(curl.status), "curl's codes for a reset: \(curl.status)")
                proxy.signal(SIGINT)
                let outcome = await proxy.finish()
                #expect(outcome.status == 0)
                let line = "squall: can't reach the upstream \(upstream): Connection refused (connect, errno 111); "
                #expect(outcome.errors == line + "the client's connection was ended\n")
            }
        }
    }

    @Test func `an address that isn't ours is exit 1`() async throws {
        let foreign = try await squall("run", "slow-3g", "--listen", "192.0.2.1:0", "--upstream", "127.0.0.1:9")
        #expect(foreign.status == 1)
        #expect(foreign.errors.contains("can't listen on 192.0.2.1:0"))
        #expect(foreign.errorLines.count == 1)
    }
}
