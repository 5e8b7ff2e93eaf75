import Foundation
import Glibc
import Testing

/// `squall test` with TLS on both sides.
@Suite(.timeLimit(.minutes(5))) struct HTTPSStageTests {
    /// Runs `squall test` in front of `squall origin --tls-self-signed` with `file.bin`, and says what it left in `TMPDIR`.
    private func staged(
        _ command: [String],
        environment: [String: String] = [:]
    ) async throws -> (outcome: Outcome, left: [String]) {
        try await withOrigin(size: 300_000, isSecure: true) { origin in
            let temporary = origin.folder.appendingPathComponent("temporary")
            try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
            let environment = ["TMPDIR": temporary.path].merging(environment) { $1 }
            let options = ["--latency", "1ms", "--upstream", origin.url, "--ca-file", origin.authority]
            let outcome = try await squall(["test"] + options + ["--"] + command, environment: environment)
            return (outcome, try FileManager.default.contentsOfDirectory(atPath: temporary.path))
        }
    }

    @Test func `the command trusts the authority without an option, and nothing is left`() async throws {
        let python = """
            import os, sys, urllib.request
            assert sys.argv[1].startswith("https://localhost:") and os.environ["SQUALL_PROXY_URL"] == sys.argv[1]
            assert len(urllib.request.urlopen(sys.argv[1] + "/file.bin").read()) == 300000
            assert "squall-" in os.environ["JAVA_TOOL_OPTIONS"] and os.environ["NODE_EXTRA_CA_CERTS"]
            """
        for command in [
            ["curl", "-sSf", "-o", "/dev/null", "{proxy.url}/file.bin"], ["python3", "-c", python, "{proxy.url}"],
        ] {
            let (outcome, left) = try await staged(command)
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
            #expect(left == [])
        }
    }

    @Test func `SIGKILL of squall leaves no folder of the authority`() async throws {
        try await withFolder { folder in
            let arguments = [
                "test", "--latency", "1ms", "--upstream", "tls:127.0.0.1:9", "--show-output", "--", "sh", "-c",
                "echo $SSL_CERT_FILE; exec sleep 300",
            ]
            try await withChild(Programs.squall, arguments, environment: ["TMPDIR": folder.path]) { child in
                let bundle = try await child.line(with: "bundle.pem")
                #expect(FileManager.default.fileExists(atPath: bundle))
                child.signal(SIGKILL)
                _ = await child.finish()
                var (rounds, left) = (0, [bundle])
                while !left.isEmpty, rounds < 1_000_000 {
                    rounds += 1
                    left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
                }
                #expect(left == [])
            }
        }
    }

    /// Of nobody, until 2126.
    private static let ownAuthority = """
        -----BEGIN CERTIFICATE-----
        MIIBkTCCATegAwIBAgIUQe3eR8HVwx/sdQYo4nWr4blB8BAwCgYIKoZIzj0EAwIw
        HTEbMBkGA1UEAwwSb3duIHRlc3QgYXV0aG9yaXR5MCAXDTI2MTEyNzIzNTAyM1oY
        DzIxMjYxMTAzMjM1MDIzWjAdMRswGQYDVQQDDBJvd24gdGVzdCBhdXRob3JpdHkw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATzBjIIddhYKDfQ3HrsZpfm/scOizpx
        8MGHON9d54gpftwMrx+nl4KsLKjh0cjytlrI9ig0PMBVOuOECbxRjuJAo1MwUTAd
        BgNVHQ4EFgQU1FDa88woBSLQWIqEm1KSMiwnXdwwHwYDVR0jBBgwFoAU1FDa88wo
        BSLQWIqEm1KSMiwnXdwwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBF
        AiEA96QMiyILHGgEtWIt0oa/zU22nIcO6HoGd8fsBVLbaQUCIGlyxF9A3BjL3CCn
        M+D9+0vV5AkAMdwgvBWvfeIAG6uR
        -----END CERTIFICATE-----
        """

    @Test func `authorities that the environment names are trusted on, and no key is copied`() async throws {
        let word = try #require(Self.ownAuthority.split(separator: "\n").dropFirst().first)
        let script = """
            grep -q \(word) $SSL_CERT_FILE && ! grep -q PRIVATE $SSL_CERT_FILE &&
                case $JAVA_TOOL_OPTIONS in "-Xmx1g -D"*) ;; *) exit 1; esac
            """
        let fetch = "curl -sSf -o /dev/null $0/file.bin && "
        try await withFolder { folder in
            let path = folder.appendingPathComponent("own.pem").path
            let key = "-----BEGIN PRIVATE KEY-----\nMA==\n-----END PRIVATE KEY-----\n"
            try Data("# mine\n\(key)\(Self.ownAuthority)\n".utf8).write(to: URL(fileURLWithPath: path))
            let (outcome, _) = try await staged(
                ["sh", "-c", fetch + script, "{proxy.url}"],
                environment: ["REQUESTS_CA_BUNDLE": path, "JAVA_TOOL_OPTIONS": "-Xmx1g"]
            )
            #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        }
        let (outcome, _) = try await staged(["true"], environment: ["SSL_CERT_FILE": "/nowhere/own.pem"])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains("can't read “/nowhere/own.pem”, which SSL_CERT_FILE names"))
    }

    @Test func `a journal of clients with TLS is shrunk with it, to localhost`() async throws {
        try await withOrigin(size: 300_000, isSecure: true) { origin in
            let folder = origin.folder
            let environment = ["TMPDIR": folder.path]
            let journal = folder.appendingPathComponent("journal.jsonl").path
            let arguments = [
                "run", "--cut-at", "64KiB", "--listen", "tls:127.0.0.1:0", "--upstream", origin.url,
                "--ca-file", origin.authority, "--journal", journal,
            ]
            try await withChild(Programs.squall, arguments, environment: environment) { child in
                let place = try address(in: try await child.line(with: "ready: tls:127.0.0.1:"))
                let outcome = try await run("curl", ["-sSk", "-o", "/dev/null", "https://\(place)/file.bin"])
                #expect(outcome.status != 0)
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
            let shrink = [
                "shrink", journal, "--ca-file", origin.authority, "--output", folder.path + "/shrunk", "--", "curl",
                "-sSf",
                "-o", "/dev/null", "https://{proxy}/file.bin",
            ]
            let outcome = try await squall(shrink, environment: environment)
            #expect(outcome.status == 0, "\(outcome.errors)")
            // Without trust it would fail in the handshake, with no fault at all.
            let shrunk = try String(contentsOfFile: folder.path + "/shrunk.jsonl", encoding: .utf8)
            #expect(shrunk.contains("\"tls\":\"clients\""))
            #expect(shrunk.contains("\"offset\":65536"))
        }
    }
}
