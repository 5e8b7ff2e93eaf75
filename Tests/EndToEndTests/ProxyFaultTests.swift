import Foundation
import Glibc
import Testing

/// One profile with different faults on two proxies.
@Suite(.timeLimit(.minutes(5))) struct ProxyFaultTests {
    private static func profile(_ origin: String) -> String {
        """
        { "name": "two",
          "proxies": [
            { "name": "postgres", "listen": "127.0.0.1:0", "upstream": "\(origin)",
              "faults": [ { "kind": "latency", "stream": "downstream", "delay": "200 ms" },
                          { "kind": "cut", "stream": "downstream", "at": "900 B", "when": { "connection": 2 } } ] },
            { "name": "redis", "listen": "127.0.0.1:0", "upstream": "\(origin)" } ],
          "faults": [ { "kind": "outage", "how": "refuse", "when": { "proxy": "redis" } } ] }
        """
    }

    private func withProxies(
        _ options: [String] = [],
        _ body: (URL, Child, _ postgres: String, _ redis: String) async throws -> Void
    ) async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("two.json")
            try await withOrigin(size: 1_000) { origin in
                try Data(ProxyFaultTests.profile(origin).utf8).write(to: file)
                try await withChild(Programs.squall, ["run", file.path, "--seed", "3"] + options, folder: folder) {
                    child in
                    let postgres = try await address(in: child.line(with: "“postgres”"))
                    let redis = try await address(in: child.line(with: "“redis”"))
                    try await body(folder, child, postgres, redis)
                }
            }
        }
    }

    private func fetch(_ address: String) async throws -> (status: Int32, seconds: Double) {
        let arguments = ["-s", "-o", "/dev/null", "-w", "%{time_total}", "http://\(address)/file.bin"]
        let outcome = try await run("curl", arguments)
        return (outcome.status, Double(outcome.output) ?? 0)
    }

    @Test func `one proxy answers late, and the other refuses`() async throws {
        try await withProxies { _, _, postgres, redis in
            let (status, seconds) = try await fetch(postgres)
            #expect(status == 0 && seconds >= 0.2)
            #expect(try await fetch(redis).status == 7, "curl couldn't connect")
        }
    }

    @Test func `the journal, a replay and a search for the fewest faults keep proxies apart`() async throws {
        try await withProxies(["--journal", "journal.jsonl"]) { folder, child, postgres, redis in
            #expect(try await fetch(postgres).status == 0)
            #expect(try await fetch(postgres).status == 56, "the connection was reset")
            #expect(try await fetch(redis).status == 7)
            child.signal(SIGTERM)
            #expect(await child.finish().status == 0)
            let lines = try journal(at: folder.appendingPathComponent("journal.jsonl"))
            #expect(
                Set(lines.map { "\($0.proxy) \($0.fault) \($0.what)" }) == [
                    "postgres postgres/latency delays", "postgres postgres/cut resets", "redis outage refuses",
                ]
            )
            let replayed = ["replay", "journal.jsonl", "--name", "postgres", "--journal", "again.jsonl"]
            try await withChild(Programs.squall, replayed, folder: folder) { child in
                let address = try await address(in: child.line(with: "ready: "))
                for _ in 0..<2 { _ = try await fetch(address) }
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
            let again = try journal(at: folder.appendingPathComponent("again.jsonl"))
            #expect(again == lines.filter { $0.proxy == "postgres" })
            let fails = "for n in 1 2; do curl -sf -o /dev/null http://$SQUALL_PROXY/file.bin || exit 1; done"
            let shrunk = ["shrink", "journal.jsonl", "--name", "postgres", "--", "sh", "-c", fails]
            let outcome = try await squall(shrunk, folder: folder)
            #expect(outcome.status == 0)
            #expect(outcome.output.contains("  connection 2, downstream: postgres/cut resets at 900\n"))
        }
    }

    @Test func `check counts the faults of all proxies, and plan draws those of one`() async throws {
        try await withFolder { folder in
            try Data(ProxyFaultTests.profile("127.0.0.1:9").utf8).write(to: folder.appendingPathComponent("two.json"))
            let check = try await squall("check", "two.json", folder: folder)
            #expect(check.output == "two.json: fine (3 faults, no phases, 2 proxies)\n")
            let plan = ["plan", "./two.json", "--seed", "3", "--size", "10KB"]
            let all = try await squall(plan, folder: folder)
            #expect(all.status == 2)
            #expect(
                all.errors.hasPrefix(
                    "squall: the proxies of the profile have faults of their own: choose one with --proxy"
                )
            )
            let one = try await squall(plan + ["--proxy", "postgres"], folder: folder)
            #expect(one.status == 0)
            #expect(one.output.contains("postgres/latency") && !one.output.contains("outage"))
            let other = try await squall(plan + ["--proxy", "mysql"], folder: folder)
            #expect(other.status == 2)
            #expect(other.errors == "squall: the profile has no proxy “mysql” (it has postgres, redis)\n")
        }
    }

    @Test func `a change of one proxy's faults leaves the other alone`() async throws {
        try await withProxies { folder, child, postgres, redis in
            let file = folder.appendingPathComponent("two.json")
            let text = try String(contentsOf: file, encoding: .utf8)
            let mended = text.replacing(
                #""faults": [ { "kind": "outage", "how": "refuse", "when": { "proxy": "redis" } } ]"#,
                with: #""faults": []"#
            )
            try Data(mended.utf8).write(to: file, options: .atomic)
            child.signal(SIGHUP)
            _ = try await child.line(with: "(generation 2): removed outage")
            #expect(try await fetch(redis).status == 0)
            #expect(try await fetch(postgres).seconds >= 0.2)
        }
    }
}
