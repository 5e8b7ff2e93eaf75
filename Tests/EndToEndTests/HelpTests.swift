import Foundation
import Testing

/// The help texts.
@Suite(.timeLimit(.minutes(5))) struct HelpTests {
    private static let everyday = [
        "--latency", "--down", "--up", "--loss", "--cut-at", "--outage", "--print-profile",
    ]

    private static let tls = [
        "--ca-file", "--client-cert", "--client-key", "--upstream-name", "--tls-cert", "--tls-key", "--authority",
        "--key-log",
    ]

    /// Every subcommand and its options.
    static let options: [String: [String]] = [
        "demo": everyday + ["--size", "--seed", "--direction", "--keep", "--events", "--page", "--port", "--queue"],
        "run": everyday + [
            "--listen", "--listen-mode", "--upstream", "--name", "--seed", "--link-memory", "--connection-limit",
            "--journal", "--start-at", "--threads", "--watch", "--forward-proxy", "--allow-client",
            "--proxy-password-file", "--allow-local-targets", "--host", "--detach", "--intercept", "--pcap",
            "--pcap-limit", "--pcap-snap",
            "--pcap-connections", "--pcap-proxy",
        ] + tls,
        "exec": everyday + [
            "--only", "--except", "--unproxied", "--seed", "--journal", "--status", "--threads", "--pcap",
            "--pcap-limit", "--pcap-snap", "--pcap-connections", "--intercept", "--page", "--port",
        ] + tls,
        "plan": everyday + [
            "--journal", "--pcap", "--size", "--direction", "--seed", "--name", "--proxy", "--head", "--client",
            "--until",
            "--svg", "--png",
            "--columns", "--format", "--events", "--fail-unless-complete",
        ],
        "replay": [
            "--listen", "--upstream", "--name", "--profile", "--journal", "--link-memory", "--connection-limit",
            "--start-at", "--threads", "--forward-proxy", "--allow-client", "--proxy-password-file",
            "--allow-local-targets", "--detach", "--only", "--except", "--intercept",
        ] + tls,
        "journal": ["--sort", "--no-times"],
        "shrink": [
            "--upstream", "--name", "--link-memory", "--connection-limit", "--runs", "--patience", "--output",
        ] + tls,
        "serve": [
            "--host", "--port", "--config", "--state", "--profiles", "--seed", "--start-at", "--strict-compat",
            "--allow-host", "--token-file", "--threads", "--forward-proxy", "--allow-client", "--proxy-password-file",
            "--allow-local-targets", "--detach", "--pcap", "--pcap-limit", "--pcap-snap", "--pcap-connections",
            "--queue", "--intercept", "--api-cert", "--api-key",
        ] + tls,
        "test": [
            "--profile", "--latency", "--down", "--up", "--loss", "--cut-at", "--outage", "--print-profile",
            "--upstream", "--exec", "--only", "--except", "--seed", "--expect", "--time-limit", "--jobs",
            "--allow-vacuous", "--require-phases", "--shrink",
            "--show-output", "--junit", "--tap", "--html", "--svg", "--artifacts", "--link-memory",
            "--connection-limit", "--intercept", "--pcap", "--pcap-limit", "--pcap-snap", "--pcap-connections",
        ] + tls,
        "authority": [],
        "ctl": [],
        "check": ["--format"],
        "profiles": [],
        "origin": [
            "--host", "--port", "--uploads", "--upload-limit", "--tls-cert", "--tls-key", "--tls-self-signed",
            "--detach",
        ],
        "get": [
            "--output", "--content-disposition", "--skip-complete", "--store-coded", "--sha256", "--require-proof",
            "--user", "--password-file", "--header", "--netrc",
            "--netrc-file", "--ca-file", "--client-cert", "--client-key", "--proxy", "--no-proxy",
            "--wait-for-network", "--limit-rate", "--attempts", "--seed", "--events",
        ],
        "queue": [],
        "put": [
            "--dialect", "--method", "--repeatable", "--content-type", "--user", "--password-file", "--header",
            "--netrc", "--netrc-file", "--ca-file", "--client-cert", "--client-key", "--proxy", "--no-proxy",
            "--wait-for-network", "--limit-rate", "--attempts", "--seed", "--state", "--events",
        ],
    ]

    @Test(arguments: HelpTests.options.keys.sorted())
    func `help of a subcommand names its options, each with what it does`(name: String) async throws {
        let help = try await squall(name, "--help")
        #expect(help.status == 0)
        #expect(help.errors.isEmpty)
        let described = help.lines.filter { $0.contains("--") && $0.hasPrefix("  -") }.compactMap { line in
            line.split(separator: " ").first { $0.hasPrefix("--") }.map(String.init)
        }
        let expected = try #require(HelpTests.options[name])
        #expect(Set(described) == Set(expected + ["--version", "--help"]))
    }

    @Test func `help of the command names its subcommands and its exit codes`() async throws {
        let help = try await squall("--help")
        #expect(help.status == 0)
        let listed = help.output.split(separator: "SUBCOMMANDS:").last.map(String.init) ?? ""
        let names = listed.matches(of: #/\n  ([a-z]+) /#).map { String($0.output.1) }
        #expect(names.sorted() == HelpTests.options.keys.sorted())
        for code in ["0 done", "1 failed", "2 the input was wrong", "75 failed for now"] {
            #expect(help.output.contains(code), "\(code)")
        }
    }

    @Test(arguments: HelpTests.options.keys.sorted())
    func `help shows defaults as a user writes them`(name: String) async throws {
        let help = try await squall("help", name)
        #expect(help.status == 0)
        for sign in ["ByteCount", "Optional", "nil", "bytes:"] { #expect(!help.output.contains(sign), "\(sign)") }
    }

    @Test func `the command without an argument shows its help`() async throws {
        let bare = try await squall()
        let help = try await squall("--help")
        #expect(bare.output == help.output)
    }

    @Test func `the version is three numbers, and the changelog begins with it`() async throws {
        let version = try await squall("--version")
        #expect(version.status == 0)
        let number = version.output.trimmingCharacters(in: .newlines)
        #expect(number.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+/) != nil)
        let heading = try Repository.text("CHANGELOG.md").split(separator: "\n").first { $0.hasPrefix("## ") }
        #expect(heading?.hasPrefix("## \(number)") == true)
    }

    @Test(arguments: [
        ["bogus"], ["help", "bogus"], ["run"], ["demo", "--size", "64"], ["demo", "--size", "0B"],
        ["demo", "--size", "17GiB"], ["demo", "--queue", "--page"], ["demo", "--queue", "--size", "65MiB"],
        ["demo", "--seed", "-1"], ["demo", "--size", "1MiB", "--", "true"], ["demo", "--direction", "down"], ["get"],
        ["get", "http://127.0.0.1/x", "--attempts", "0"],
        ["get", "http://127.0.0.1/x", "--sha256", "+f"], ["get", "http://127.0.0.1/x", "--limit-rate", "0 B/s"],
        ["put", "x"], ["put", "x", "http://127.0.0.1/x", "--dialect", "7"],
        ["put", "x", "http://127.0.0.1/x", "--dialect", "06"], ["put", "x", "http://127.0.0.1/x", "--attempts", "0"],
        ["put", "x", "http://127.0.0.1/x", "--method", "PATCH"],
        ["origin"], ["check"],
        ["replay"], ["replay", "x", "--threads", "257"], ["shrink", "x"], ["shrink", "x", "--runs", "0", "--", "true"],
        ["shrink", "x", "--patience", "0s", "--", "true"], ["plan"], ["plan", "slow-3g", "--size", "0B"],
        ["plan", "slow-3g", "--direction", "both"],
        ["plan", "slow-3g", "--until", "0s"], ["plan", "slow-3g", "--head", "1MiB"],
        ["plan", "slow-3g", "--head", "0B"],
        ["run", "--latency", "5"], ["run", "--latency", "5ms±5"], ["run", "--loss", "100%"], ["run", "--loss", "1"],
        ["run", "--outage", "5s..4s"], ["run", "--down", "0B/s"], ["run", "--cut-at", "-1B"],
        ["plan", "--up", "1mbps"],
        ["run", "--watch", "-"], ["run", "--watch", "--latency", "1ms"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0"], ["run", "slow-3g", "--listen", "nonsense", "--upstream", "a:1"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:0"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "a:1", "--threads", "257"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "a:1", "--link-memory", "1KiB"],
        ["run", "slow-3g", "--listen", "127.0.0.1:0", "--upstream", "a:1", "--connection-limit", "0"],
    ])
    func `an invalid command line is exit 2 with the usage`(arguments: [String]) async throws {
        let outcome = try await squall(arguments)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix("Error: "))
        #expect(outcome.errors.contains("Usage: squall"))
    }
}
