import Foundation
import Glibc
import Testing

/// `squall run` with TLS on its sides, with clients and servers that aren't Squall's.
@Suite(.timeLimit(.minutes(5))) struct HTTPSTests {
    private struct Run {
        let folder: URL
        let child: Child
        /// Where the proxy listens.
        let place: String
        /// The file of its authority.
        let trust: String

        var port: String { String(place.split(separator: ":").last ?? "") }

        func curl(_ arguments: String...) async throws -> Outcome {
            try await run("curl", ["-s", "-S", "--max-time", "60", "--cacert", trust] + arguments)
        }
    }

    /// Runs `squall run` between clients with TLS and `squall origin --tls-self-signed` with `file.bin` of 3 MB.
    private func withSecureRun(
        _ profile: String,
        _ options: [String] = [],
        _ body: (Run) async throws -> Void
    ) async throws {
        try await withOrigin(size: 3_000_000, isSecure: true) { origin in
            let folder = origin.folder
            let path = folder.appendingPathComponent("profile.json").path
            try Data(profile.utf8).write(to: URL(fileURLWithPath: path))
            let sides = ["--listen", "tls:127.0.0.1:0", "--upstream", origin.url, "--ca-file", origin.authority]
            let arguments = ["run", path] + sides + options
            let environment = ["TMPDIR": folder.path]
            try await withChild(Programs.squall, arguments, environment: environment, folder: folder) { child in
                let place = try address(in: try await child.line(with: "ready: tls:127.0.0.1:"))
                let file = try await child.authority()
                try await body(Run(folder: folder, child: child, place: place, trust: file))
                child.signal(SIGTERM)
                #expect(await child.finish().status == 0)
                #expect(!FileManager.default.fileExists(atPath: file), "the authority ends with the run")
            }
        }
    }

    private static let plain = #"{"name": "plain", "faults": []}"#

    @Test func `curl gets the file by TLS 1.2 and 1.3, by name and by address`() async throws {
        try await withSecureRun(HTTPSTests.plain) { proxy in
            for host in ["127.0.0.1", "localhost"] {
                for version in ["1.2", "1.3"] {
                    let file = proxy.folder.appendingPathComponent("copy.bin")
                    let outcome = try await proxy.curl(
                        "--tls-max",
                        version,
                        "--tlsv\(version)",
                        "-o",
                        file.path,
                        "https://\(host):\(proxy.port)/file.bin"
                    )
                    #expect(outcome.status == 0, "\(outcome.errors)")
                    #expect(try Data(contentsOf: file) == bytes(3_000_000))
                }
            }
        }
    }

    @Test func `a client that doesn't trust the authority is told of in one line`() async throws {
        try await withSecureRun(HTTPSTests.plain) { proxy in
            let outcome = try await run("curl", ["-s", "-S", "https://localhost:\(proxy.port)/file.bin"])
            #expect(outcome.status == 60)
            let line = try await proxy.child.errorLine(with: "the client rejects the certificate")
            #expect(line.contains("alert unknown_ca"))
            #expect(line.contains("trust:"))
        }
    }

    @Test func `a client without TLS is told what to write`() async throws {
        try await withSecureRun(HTTPSTests.plain) { proxy in
            let outcome = try await run("curl", ["-s", "-S", "http://\(proxy.place)/file.bin"])
            #expect(outcome.output.contains("use https://"))
        }
    }

    @Test func `a fault of messages reaches the response, and ALPN has HTTP/1`() async throws {
        let profile = """
            {"name": "busy", "faults": [{"kind": "http", "answer": {"status": 503}, "when": {"http": {"request": 1}}}]}
            """
        try await withSecureRun(profile) { proxy in
            let outcome = try await proxy.curl(
                "--http2",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{http_version}",
                "https://localhost:\(proxy.port)/file.bin"
            )
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(outcome.output == "503 1.1")
        }
    }

    @Test func `a client of HTTP/2 alone passes such a fault, and a line says so`() async throws {
        let script = """
            import socket, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[2])
            context.set_alpn_protocols(["h2"])
            plain = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
            with context.wrap_socket(plain, server_hostname="localhost") as client:
                client.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                # The fourth byte of a frame is its type, and that of SETTINGS 4 (RFC 9113, section 4.1).
                print(client.selected_alpn_protocol(), client.recv(9)[3])
            """
        try await withSecureRun(#"{"name": "x", "faults": [{"kind": "http", "answer": {"status": 503}}]}"#) { proxy in
            let outcome = try await run("python3", ["-c", script, proxy.port, proxy.trust])
            #expect(outcome.output == "h2 4\n", "\(outcome.errors)")
            _ = try await proxy.child.errorLine(with: "the stream is HTTP/2")
        }
    }

    @Test func `without such a fault the client has the protocol of the upstream`() async throws {
        try await withSecureRun(HTTPSTests.plain) { proxy in
            let url = "https://localhost:\(proxy.port)/file.bin"
            let output = ["-o", "/dev/null", "-w", "%{http_code} %{http_version}"]
            for (option, version) in [("--http2", "2"), ("--http1.1", "1.1"), ("--no-alpn", "1.1")] {
                let outcome = try await run("curl", ["-s", "-S", "--cacert", proxy.trust, option] + output + [url])
                #expect(outcome.output == "200 \(version)", "\(option): \(outcome.errors)")
            }
        }
    }

    @Test(arguments: ["close", "reset"])
    func `Python reads exactly what a cut lets pass`(how: String) async throws {
        var generator = SystemRandomNumberGenerator()
        let offsets = (0..<25).map { _ in Int.random(in: 1..<3_000_000, using: &generator) }
        let list = offsets.map { "\"\($0) B\"" }.joined(separator: ", ")
        let profile = """
            {"name": "cuts", "faults": [{"kind": "cut", "stream": "downstream", "at": [\(list)], "how": "\(how)"}]}
            """
        let script = """
            import socket, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[1])
            for _ in range(int(sys.argv[3])):
                raw = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
                client = context.wrap_socket(raw, server_hostname="localhost")
                client.sendall(b"GET /file.bin HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
                count = 0
                try:
                    while part := client.recv(1 << 18): count += len(part)
                except ConnectionResetError:
                    pass
                print(count)
            """
        try await withSecureRun(profile) { proxy in
            let outcome = try await run("python3", ["-c", script, proxy.trust, proxy.port, "\(offsets.count)"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            let counts = outcome.output.split(separator: "\n").compactMap { Int($0) }
            #expect(counts.count == offsets.count)
            if how == "close" { #expect(counts == offsets) }
            #expect(zip(counts, offsets).allSatisfy { $0 <= $1 })
        }
    }

    @Test func `an end without close_notify stays so, and one with it is passed on`() async throws {
        let script = """
            import socket, ssl, sys
            context = ssl.create_default_context(cafile=sys.argv[1])
            raw = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            client = context.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False)
            client.sendall(b"GET /file.bin HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
            try:
                while client.recv(1 << 18): pass
                print("notice")
            except ssl.SSLEOFError:
                print("none")
            """
        try await withSecureRun(HTTPSTests.plain) { proxy in
            let outcome = try await run("python3", ["-c", script, proxy.trust, proxy.port])
            #expect(outcome.output == "notice\n", "\(outcome.errors)")
        }
        let cut = #"{"name": "cut", "faults": [{"kind": "cut", "stream": "downstream", "at": "1 MB", "how": "close"}]}"#
        try await withSecureRun(cut) { proxy in
            let outcome = try await run("python3", ["-c", script, proxy.trust, proxy.port])
            #expect(outcome.output == "none\n", "\(outcome.errors)")
        }
    }

    @Test func `an upstream that isn't trusted gives the client an alert, and a line`() async throws {
        let authority = FileManager.default.temporaryDirectory.appendingPathComponent("squall-\(UUID().uuidString).pem")
        defer { try? FileManager.default.removeItem(at: authority) }
        try await withSecureRun(HTTPSTests.plain) { proxy in
            // The authority of another run signs nothing here.
            try FileManager.default.copyItem(atPath: proxy.trust, toPath: authority.path)
        }
        try await withSecureRun(HTTPSTests.plain, ["--ca-file", authority.path]) { proxy in
            let outcome = try await proxy.curl("https://localhost:\(proxy.port)/file.bin")
            #expect(outcome.status == 35)
            #expect(outcome.errors.contains("internal error"))
            _ = try await proxy.child.errorLine(with: "isn't signed by an authority that is trusted here")
        }
    }

    @Test func `openssl verifies the chain with the authority alone, and not for another name`() async throws {
        try await withSecureRun(HTTPSTests.plain) { proxy in
            for (name, isRight) in [("localhost", true), ("other.test", false)] {
                let script = """
                    echo | openssl s_client -connect \(proxy.place) -servername \(name) -verify_hostname \(name) \
                    -CAfile \(proxy.trust) -verify_return_error 2>&1
                    """
                let outcome = try await run("sh", ["-c", script])
                #expect(outcome.output.contains("Verify return code: 0 (ok)") == isRight, "\(name): \(outcome.output)")
            }
        }
    }

    @Test func `the certificate of --tls-cert is presented, and the key log is private`() async throws {
        try await withFolder { folder in
            let (key, certificate) = try await ownCertificate(for: "own.test", in: folder)
            let log = folder.path + "/keys.log"
            // Others may read the one that is there.
            try Data("x\n".utf8).write(to: URL(fileURLWithPath: log))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: log)
            let arguments = [
                "run", "flaky-api", "--listen", "tls:127.0.0.1:0", "--upstream", "127.0.0.1:9", "--tls-cert",
                certificate,
                "--tls-key", key, "--key-log", log,
            ]
            try await withChild(Programs.squall, arguments) { child in
                let place = try address(in: try await child.line(with: "ready: tls:127.0.0.1:"))
                _ = try await child.errorLine(with: "can read the traffic")
                let port = place.split(separator: ":")[1]
                let curl = ["-s", "--cacert", certificate, "--resolve", "own.test:\(port):127.0.0.1"]
                _ = try await run("curl", curl + ["https://own.test:\(port)/"])
                let mode = try FileManager.default.attributesOfItem(atPath: log)[.posixPermissions] as? Int
                #expect(mode == 0o600)
            }
        }
    }

    @Test func `a key log that isn't a regular file is refused, and nothing waits for its reader`() async throws {
        try await withFolder { folder in
            let pipe = folder.path + "/pipe"
            #expect(mkfifo(pipe, 0o600) == 0)
            func refusal() async throws -> Outcome {
                let words = ["run", "flaky-api", "--listen", "tls::0", "--upstream", ":9", "--key-log", pipe]
                return try await withChild(Programs.squall, words) { await $0.finish() }
            }
            let unread = try await refusal()
            #expect(unread.status == 2 && unread.errors.contains("it is no regular file"), "\(unread.errors)")
            let reader = open(pipe, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let read = try await refusal()
            #expect(read.status == 2 && read.errors.contains("it is no regular file"), "\(read.errors)")
        }
    }

    @Test func `no output is written over a file of an option`() async throws {
        try await withFolder { folder in
            let (key, certificate) = try await ownCertificate(for: "own.test", in: folder)
            let password = folder.appendingPathComponent("password").path
            try Data("secret\n".utf8).write(to: URL(fileURLWithPath: password))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
            let tls = ["--listen", "tls::0", "--upstream", ":9", "--tls-cert", certificate, "--tls-key", key]
            let forward = ["--forward-proxy", ":0", "--proxy-password-file", password]
            let cases: [(input: String, words: [String])] = [
                (key, ["run", "flaky-api"] + tls + ["--pcap", key]),
                (certificate, ["run", "flaky-api"] + tls + ["--journal", certificate]),
                (certificate, ["run", "flaky-api"] + tls + ["--key-log", certificate]),
                (password, ["run", "flaky-api"] + forward + ["--pcap", password]),
                (certificate, ["serve", "--port", "0", "--config", certificate, "--pcap", certificate]),
                (
                    certificate,
                    [
                        "serve", "--port", "0", "--config", certificate, "--tls-cert", certificate, "--tls-key", key,
                        "--key-log", certificate,
                    ]
                ),
                (certificate, ["get", "https://localhost:9/x", "--ca-file", certificate, "-o", certificate]),
            ]
            for (input, words) in cases {
                let before = try Data(contentsOf: URL(fileURLWithPath: input))
                let outcome = try await squall(words, folder: folder)
                #expect(outcome.status == 2 && outcome.errors.contains("would be written over"), "\(outcome)")
                #expect(try Data(contentsOf: URL(fileURLWithPath: input)) == before)
            }
        }
    }
}
