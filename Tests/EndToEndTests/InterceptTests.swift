import Foundation
import Glibc
import Testing

/// `--intercept` of `squall run --forward-proxy` and of `squall exec`, with clients that aren't Squall's.
@Suite(.timeLimit(.minutes(5))) struct InterceptTests {
    /// Runs a server with TLS at every address of `localhost`, with profiles in its folder.
    private func withOrigin(_ body: (Origin) async throws -> Void) async throws {
        try await EndToEndTests.withOrigin(size: 300_000, isSecure: true) { origin in
            try FileManager.default.createDirectory(atPath: origin.temporary, withIntermediateDirectories: false)
            try Data(InterceptTests.busy.utf8).write(to: origin.folder.appendingPathComponent("busy.json"))
            try await body(origin)
        }
    }

    /// The second request of a connection is answered with 503.
    private static let busy = """
        {"name": "busy", "faults": [{"kind": "http", "answer": {"status": 503}, "when": {"http": {"request": 2}}}]}
        """

    @Test func `a forward proxy reads the requests to a named host, and passes the others' TLS`() async throws {
        try await withOrigin { origin in
            let arguments = [
                "run", origin.folder.path + "/busy.json", "--forward-proxy", ":0", "--intercept", "localhost",
                "--ca-file",
                origin.authority,
            ]
            let environment = ["TMPDIR": origin.temporary]
            try await withChild(Programs.squall, arguments, environment: environment) { child in
                let place = try address(in: try await child.line(with: "ready: "))
                let trust = try await child.authority()
                func curl(_ authority: String, _ url: String) async throws -> Outcome {
                    let twice = [url, "-o", "/dev/null", url, "-o", "/dev/null"]
                    let options = ["-sS", "--noproxy", "", "-x", "http://\(place)", "-w", "%{http_code} "]
                    return try await run("curl", options + ["--cacert", authority] + twice)
                }
                #expect(try await curl(trust, origin.namedURL).output == "200 503 ")
                // By its address it isn't named: its own certificate comes.
                let untouched = try await curl(origin.authority, "https://127.0.0.1:\(origin.port)/file.bin")
                #expect(untouched.output == "200 200 ", "\(untouched.errors)")
                let stranger = try await curl(origin.authority, origin.namedURL)
                #expect(stranger.status == 60)
                let told = try await child.errorLine(with: "the client rejects the certificate")
                #expect(told.contains("alert unknown_ca"))
                let page = try await run("curl", ["-sS", "--noproxy", "*", "http://\(place)/authority.pem"])
                #expect(try page.output == String(contentsOfFile: trust, encoding: .utf8))
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
            #expect(try origin.left == [])
        }
    }

    @Test func `a command behind exec trusts the authority without an option, and nothing is left`() async throws {
        let python = """
            import sys, requests, urllib.request
            with requests.Session() as session:
                codes = [session.get(sys.argv[1]).status_code for _ in range(2)]
            assert codes == [200, 503], codes
            assert len(urllib.request.urlopen(sys.argv[1]).read()) == 300000
            """
        try await withOrigin { origin in
            let untouched = [
                "curl", "-sSf", "-o", "/dev/null", "--cacert", origin.authority,
                "https://127.0.0.1:\(origin.port)/file.bin",
            ]
            for command in [
                ["curl", "-sSf", "-o", "/dev/null", origin.namedURL],
                // By its address the ClientHello has the name.
                [
                    "curl", "-sSf", "-o", "/dev/null", "--resolve", "localhost:\(origin.port):127.0.0.1",
                    origin.namedURL,
                ],
                ["python3", "-c", python, origin.namedURL],
                untouched,
            ] {
                let outcome = try await origin.squall(
                    [
                        "exec", origin.folder.path + "/busy.json", "--intercept", "localhost", "--ca-file",
                        origin.authority,
                    ]
                        + ["--"] + command
                )
                #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
                #expect(outcome.errors.contains("the stream is TLS") == (command == untouched), "\(outcome.errors)")
                #expect(try origin.left == [])
            }
        }
    }

    @Test func `exec reports an upstream that it distrusts, and a command that distrusts it`() async throws {
        try await withOrigin { origin in
            let exec = ["exec", "--latency", "1ms", "--intercept", "localhost"]
            let untrusted = try await origin.squall(exec + ["--", "curl", "-sS", origin.namedURL])
            #expect(untrusted.status == 35)
            #expect(untrusted.errors.contains("can't reach the upstream tls:localhost:\(origin.port)"))
            let trusting = exec + ["--ca-file", origin.authority, "--"]
            let stranger = try await origin.squall(
                trusting + ["curl", "-sS", "--cacert", origin.authority, origin.namedURL]
            )
            #expect(stranger.status == 60)
            #expect(stranger.errors.contains("it doesn't trust Squall's authority"))
            #expect(try origin.left == [])
        }
    }

    @Test func `the stage judges an intercepted command, and a journal of one is replayed`() async throws {
        try await withOrigin { origin in
            let profile = origin.folder.path + "/busy.json"
            let options = ["--intercept", "localhost", "--ca-file", origin.authority]
            let script = "curl -sSf -o /dev/null $0 -o /dev/null $0; test $? = 22"
            let stage = try await origin.squall(
                ["test", "--profile", profile, "--exec", "--expect", "faults(http) == 1"] + options
                    + ["--", "sh", "-c", script, origin.namedURL]
            )
            #expect(stage.status == 0, "\(stage.output)\(stage.errors)")
            let journal = origin.folder.path + "/journal.jsonl"
            let curl = ["--", "curl", "-sS", "-o", "/dev/null", "-w", "%{size_download}", origin.namedURL]
            let first = try await origin.squall(["exec", "--cut-at", "64KiB", "--journal", journal] + options + curl)
            #expect(first.status == 56 || first.status == 18, "\(first.errors)")
            #expect(try String(contentsOfFile: journal, encoding: .utf8).contains("\"offset\":65536"))
            let again = try await origin.squall(["replay", journal] + options + curl)
            #expect(again.status == first.status, "\(again.errors)")
            #expect(try origin.left == [])
        }
    }

    @Test func `serve has proxies with TLS on their sides, and a forward proxy that intercepts it`() async throws {
        try await withOrigin { origin in
            let arguments = [
                "serve", "--host", "127.0.0.1", "--port", "0", "--ca-file", origin.authority, "--forward-proxy", ":0",
                "--intercept", "localhost",
            ]
            let environment = ["TMPDIR": origin.temporary]
            try await withChild(Programs.squall, arguments, environment: environment) { child in
                let trust = try await child.authority()
                let api = try address(in: try await child.line(with: "ready: http://"))
                let forward = try address(in: try await child.line(with: "forward proxy: "))
                let body = """
                    {"name": "api", "listen": "tls::0", "upstream": "https://localhost:\(origin.port)",
                    "faults": [{"kind": "http", "answer": {"status": 503}, "when": {"http": {"request": 2}}}]}
                    """
                let made = try await run("curl", ["-sSf", "http://\(api)/v1/proxies", "-d", body])
                let listen = try #require(made.output.firstMatch(of: /"listen": ?"tls:127.0.0.1:([0-9]+)"/)).1
                let output = ["-sS", "-w", "%{http_code} ", "--cacert", trust, "-o", "/dev/null", "-o", "/dev/null"]
                let url = "https://localhost:\(listen)/file.bin"
                #expect(try await run("curl", output + [url, url]).output == "200 503 ")
                let through = ["--noproxy", "", "-x", "http://\(forward)"]
                #expect(
                    try await run("curl", output + through + [origin.namedURL, origin.namedURL]).output == "200 200 "
                )
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
            #expect(try origin.left == [])
        }
    }

    @Test func `serve makes an authority with the first proxy that needs it`() async throws {
        try await withFolder { folder in
            let arguments = ["serve", "--host", "127.0.0.1", "--port", "0"]
            try await withChild(Programs.squall, arguments, environment: ["TMPDIR": folder.path]) { child in
                let api = try address(in: try await child.line(with: "ready: http://"))
                #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
                let body = #"{"name": "api", "listen": "tls:127.0.0.1:0", "upstream": "127.0.0.1:9"}"#
                #expect(try await run("curl", ["-sSf", "http://\(api)/v1/proxies", "-d", body]).status == 0)
                let trust = try await child.line(with: "trust: ")
                #expect(trust.contains(folder.path))
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }

    @Test func `an authority that stays has to sign for the host`() async throws {
        try await withFolder { folder in
            let file = folder.path + "/squall.pem"
            let made = try await squall(["authority", "create", file, "--for", "api.test"])
            #expect(made.status == 0)
            for (host, status) in [("*.api.test", Int32(0)), ("other.test", 2)] {
                let words = ["exec", "--latency", "1ms", "--intercept", host, "--authority", file, "--", "true"]
                let outcome = try await squall(words)
                #expect(outcome.status == status, "\(outcome.errors)")
                #expect(outcome.errors.contains("the authority doesn't sign for other.test") == (status == 2))
            }
        }
    }
}

extension Origin {
    /// The URL of the file, by a name.
    fileprivate var namedURL: String { "https://localhost:\(port)/file.bin" }

    /// The temporary folder of commands.
    fileprivate var temporary: String { folder.path + "/temporary" }

    /// What is left in the temporary folder.
    fileprivate var left: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: temporary) }
    }

    /// Runs a command of Squall's with the temporary folder.
    fileprivate func squall(_ arguments: [String]) async throws -> Outcome {
        let environment = ["TMPDIR": temporary, "no_proxy": "", "HTTPS_PROXY": ""]
        return try await EndToEndTests.squall(arguments, environment: environment)
    }
}
