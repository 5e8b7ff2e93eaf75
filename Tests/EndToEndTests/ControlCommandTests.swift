import Foundation
import Testing

/// `squall ctl`, on a server and on one that records its requests.
@Suite(.timeLimit(.minutes(5))) struct ControlCommandTests {
    /// Runs `body` with a control server, and a function that runs `squall ctl` on it.
    private func withServer(
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        _ body: (String) async throws -> Void
    ) async throws {
        try await withChild(Programs.squall, ["serve", "-port=0"] + arguments, environment: environment) { server in
            let line = try await server.line(with: "ready: ")
            try await body(String(try #require(line.firstMatch(of: /http:[^ ]*/)).output))
        }
    }

    /// Runs a command line, split at its spaces, for a server.
    private func ctl(
        _ url: String,
        _ line: String,
        last: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> Outcome {
        let words = ["ctl"] + line.split(separator: " ").map(String.init) + (last.map { [$0] } ?? [])
        let variables = environment.merging(["TOXIPROXY_URL": url]) { $1 }
        return try await squall(words, environment: variables)
    }

    /// The output of a command that succeeds.
    private func output(_ url: String, _ line: String) async throws -> String {
        let outcome = try await ctl(url, line)
        #expect(outcome.status == 0, "\(line): \(outcome.errors)")
        #expect(outcome.errors.isEmpty)
        return outcome.output
    }

    @Test func `proxies and toxics are changed and listed as by toxiproxy-cli`() async throws {
        try await withServer { url in
            #expect(try await output(url, "list") == "")
            // On an address of its own: while it is off, no other test takes its port.
            #expect(try await output(url, "create -l 127.0.5.5:0 -u 127.0.0.1:9 foo") == "Created new proxy foo\n")
            #expect(try await output(url, "new -listen=127.0.0.1:0 -u 127.0.0.1:9 a:1") == "Created new proxy a:1\n")
            let listed = try await output(url, "ls")
            #expect(
                listed.replacing(/127\.0\.[0-9]\.[0-9]:[0-9]{2,}/, with: "L")
                    == "a:1\tL\t127.0.0.1:9\tenabled\t0\nfoo\tL\t127.0.0.1:9\tenabled\t0\n"
            )
            #expect(try await output(url, "toggle foo") == "Proxy foo is now disabled\n")
            #expect(try await output(url, "li").contains("\tdisabled\t0\n"))
            #expect(try await output(url, "tog foo") == "Proxy foo is now enabled\n")
            let add = "toxic add -t latency -a latency=100 -a jitter=50 --tox 0.5 foo"
            #expect(
                try await output(url, add) == "Added downstream latency toxic 'latency_downstream' on proxy 'foo'\n"
            )
            let cut = "t a --type bandwidth -n slow -a rate=1000000 --upstream foo"
            #expect(try await output(url, cut) == "Added upstream bandwidth toxic 'slow' on proxy 'foo'\n")
            let second = "\tstream=downstream\ttoxicity=0.50\tattributes=[\tjitter=50\tlatency=100\t]\n"
            #expect(
                try await output(url, "inspect foo")
                    == "slow\ttype=bandwidth\tstream=upstream\ttoxicity=1.00\tattributes=[\trate=1e+06\t]\n"
                    + "latency_downstream\ttype=latency" + second
            )
            let update = "toxic update -n latency_downstream -a jitter=25 foo"
            #expect(try await output(url, update) == "Updated toxic 'latency_downstream' on proxy 'foo'\n")
            // As in toxiproxy-cli, the toxicity is 1 again.
            #expect(try await output(url, "i foo").contains("toxicity=1.00\tattributes=[\tjitter=25\tlatency=100\t]\n"))
            #expect(try await output(url, "toxic remove -n slow foo") == "Removed toxic 'slow' on proxy 'foo'\n")
            #expect(try await output(url, "delete a:1") == "Deleted proxy a:1\n")
            let json = try JSONSerialization.jsonObject(with: Data(try await output(url, "--json list").utf8))
            #expect((json as? [String: Any])?.keys.sorted() == ["foo"])
            #expect(try await output(url, "reset") == "Enabled every proxy and removed every toxic\n")
            #expect(try await output(url, "i foo") == "")
        }
    }

    @Test func `with a certificate the API speaks https, which ctl and curl verify`() async throws {
        try await withFolder { folder in
            let (key, certificate) = try await ownCertificate(for: "localhost", in: folder)
            let arguments = ["serve", "--port", "0", "--api-cert", certificate, "--api-key", key]
            try await withChild(Programs.squall, arguments) { server in
                let line = try await server.line(with: "ready: ")
                let url = String(try #require(line.firstMatch(of: /https:[^ ]*/)).output)
                let trust = "--ca-file \(certificate)"
                #expect(
                    try await output(url, "create -l 127.0.0.1:0 -u 127.0.0.1:9 \(trust) db")
                        == "Created new proxy db\n"
                )
                #expect(try await output(url, "list \(trust)").hasPrefix("db\t"))
                let page = try await run("curl", ["-sS", "--cacert", certificate, "\(url)/", url + "/proxies"])
                #expect(
                    page.output.contains("<!doctype html>") && page.output.contains(#""name":"db""#),
                    "\(page.errors)"
                )
                // Neither a client that doesn't trust it, nor one of http, gets anything, and the server goes on.
                for (url, arguments, words) in [
                    (url, "list", "the server's certificate isn't signed by an authority that is trusted here"),
                    (url.replacing("localhost", with: "127.0.0.1"), "list \(trust)", "certificate is for another name"),
                    (url.replacing("https:", with: "http:"), "list", "HTTPS: write https:// in place"),
                ] {
                    let outcome = try await ctl(url, arguments)
                    #expect(outcome.status == 1 && outcome.errors.contains(words), "\(url): \(outcome.errors)")
                    #expect(outcome.output.isEmpty)
                }
                #expect(try await output(url, "list \(trust)").hasPrefix("db\t"))
            }
        }
    }

    @Test func `a response of unknown length to HTTP/1.0 has no transfer coding, and ends its socket`() async throws {
        try await withServer { url in
            for method in ["PUT", "DELETE"] {
                let content = method == "PUT" ? ["-d", "{}"] : []
                let words = ["-sS", "-X", method, "\(url)/v1/capture"] + content
                #expect(try await run("curl", words).output.contains(#""state""#))
            }
            let words = ["-sS", "-o", "/dev/null", "-w", "%{size_download}", "\(url)/v1/capture/file"]
            let file = try await run("curl", ["-0", "-D", "/dev/stderr", "-H", "Connection: keep-alive"] + words)
            #expect(file.errors.hasPrefix("HTTP/1.0 200 ") && !file.errors.lowercased().contains("transfer-encoding"))
            #expect(try await run("curl", words).output == file.output && file.output != "0", "\(file)")
        }
    }

    @Test func `an expired certificate is used, with a warning, and an authority's is exit 2`() async throws {
        try await withFolder { folder in
            let script = """
                openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key -out request -subj /CN=old
                openssl x509 -req -in request -signkey key -days -1 -out old
                "$0" authority create --for localhost authority
                """
            let made = try await withChild(Programs.find("sh"), ["-ec", script, Programs.squall.path], folder: folder) {
                await $0.finish()
            }
            #expect(made.status == 0, "\(made.errors)")
            let words = ["serve", "--port", "0", "--api-cert", "old", "--api-key", "key"]
            try await withChild(Programs.squall, words, folder: folder) { server in
                _ = try await server.errorLine(with: "“old” (--api-cert) has expired")
                _ = try await server.line(with: "ready: https:")
            }
            let signing = ["serve", "--port", "0", "--api-cert", "authority.crt", "--api-key", "authority"]
            let outcome = try await squall(signing, folder: folder)
            #expect(outcome.status == 2 && outcome.errors.contains("isn't for servers or clients"), "\(outcome.errors)")
        }
    }

    @Test func `ctl says when a server of https speaks http, and when a file isn't needed`() async throws {
        try await withServer { url in
            let secure = try await ctl(url.replacing("http:", with: "https:"), "list")
            #expect(secure.status == 1 && secure.errors.contains("what came isn't TLS"), "\(secure.errors)")
            let plain = try await ctl(url, "list --ca-file x.pem")
            #expect(plain.status == 2 && plain.errors.contains("--ca-file is for a server of https"))
        }
    }

    @Test func `a list makes what --config makes of it, and goes on with what there is`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("proxies.json")
            let proxies = #"""
                [{"name":"db","listen":"127.0.5.6:0","upstream":"127.0.0.1:9","profile":"slow-3g",
                  "toxics":[{"name":"a/b","type":"latency","attributes":{"latency":100}}]}]
                """#
            try Data(proxies.utf8).write(to: file)
            let line = "a/b\ttype=latency\tstream=downstream\ttoxicity=1.00\tattributes=[\tjitter=0\tlatency=100\t]\n"
            try await withServer(["-config=\(file.path)"]) { url in
                let listed = try await output(url, "inspect db")
                #expect(listed == line)
            }
            try await withServer { url in
                let made = try await output(url, "populate \(file.path)")
                #expect(made.hasSuffix("\tenabled\t1\n"))
                #expect(try await output(url, "inspect db") == line)
                #expect(try await output(url, "--json snapshot").contains(#""profileName":"slow-3g""#))
                #expect(try await output(url, "toxic remove -n a/b db") == "Removed toxic 'a/b' on proxy 'db'\n")
                #expect(try await output(url, "down db --for 1h") == "Proxy db is down for 1 h\n")
                #expect(try await output(url, "up db") == "Proxy db is now enabled\n")
                #expect(try await output(url, "reset --all").hasSuffix(", profile and fault\n"))
                #expect(!(try await output(url, "--json snapshot").contains("slow-3g")))
            }
        }
    }

    @Test(arguments: [
        ("inspect no", "Failed to retrieve proxy no: HTTP 404: proxy not found"),
        ("toggle no", "Failed to retrieve proxy no: HTTP 404: proxy not found"),
        ("create -l 127.0.0.1:0 -u 127.0.0.1:9 foo", "Failed to create proxy: create: HTTP 409: proxy already exists"),
        (
            "toxic add -t latency no",
            "Failed to add toxic: failed to retrieve proxy with name `no`: HTTP 404: proxy not found"
        ),
        (
            "toxic add -t no foo",
            "Failed to add toxic: failed to add toxic to proxy foo: AddToxic: HTTP 400: invalid toxic type"
        ),
        (
            "toxic add -t latency -a latncy=5 foo",
            "Failed to add toxic: failed to add toxic to proxy foo: AddToxic: HTTP 400: bad request body: latency has no "
                + "attribute “latncy”: it has latency, jitter"
        ),
        (
            "toxic update -n no foo",
            "Failed to update toxic: failed to update toxic 'no' of proxy 'foo': HTTP 404: toxic not found"
        ),
        (
            "toxic delete -n no foo",
            "Failed to remove toxic: failed to remove toxic 'no' from proxy 'foo': HTTP 404: toxic not found"
        ),
    ])
    func `a refusal is exit 1, with Toxiproxy's text`(line: String, text: String) async throws {
        try await withServer { url in
            _ = try await output(url, "create -l 127.0.0.1:0 -u 127.0.0.1:9 foo")
            let outcome = try await ctl(url, line)
            #expect(outcome.status == 1)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors == text + "\n")
        }
    }

    @Test(arguments: [
        "create foo", "inspect", "toxic add -t latency", "toxic add -t latency -u -d foo",
        "toxic add -t latency --toxicity 2 foo", "toxic add -t latency -a latency foo", "list -h ftp://h",
        "fault set db slow", "fault set db slow latency", "fault set db kind=latency delay=1ms",
        "wait db open>1 --baseline then", "down", "up",
        "fault remove db", "wait db", "end db x",
        "populate /nowhere.json", "apply /nowhere.json",
    ])
    func `usage errors are exit 2`(line: String) async throws {
        let outcome = try await ctl("http://127.0.0.1:1", line)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
    }

    @Test func `a server that isn't there is exit 1`() async throws {
        let outcome = try await ctl("http://127.0.0.1:1", "list")
        #expect(outcome.status == 1)
        let remedy = "start squall serve, or name its URL with --host"
        let reason = "can't connect to 127.0.0.1:1: connection refused; \(remedy)"
        #expect(outcome.errors == "Failed to retrieve proxies: fail to request: \(reason)\n")
    }

    @Test func `a token is sent from the environment or a file`() async throws {
        try await withServer(environment: ["SQUALL_TOKEN": "secret"]) { url in
            let refused = try await ctl(url, "list")
            #expect(refused.status == 1)
            #expect(refused.errors.hasPrefix("Failed to retrieve proxies: HTTP 401: "))
            #expect(try await ctl(url, "list", environment: ["SQUALL_TOKEN": "secret"]).status == 0)
            try await withFolder { folder in
                let file = folder.appendingPathComponent("token")
                try Data("secret\n".utf8).write(to: file)
                #expect(try await ctl(url, "list --token-file \(file.path)").status == 0)
            }
        }
    }

    @Test func `links named like Toxiproxy's programs behave as they do`() async throws {
        try await withFolder { folder in
            let links = ["toxiproxy-server", "toxiproxy-cli"].map { folder.appendingPathComponent($0) }
            for link in links {
                try FileManager.default.createSymbolicLink(at: link, withDestinationURL: Programs.squall)
            }
            let version = try await withChild(links[0], ["-version"]) { await $0.finish() }
            #expect(version.output == "toxiproxy-server version 2.12.0\n")
            let variables = ["LOG_LEVEL": "debug"]
            let arguments = ["-host", "127.0.0.1", "-port=0", "-config=/nowhere", "-proxy-metrics"]
            try await withChild(links[0], arguments, environment: variables) { server in
                // The problem of the file doesn't keep it from starting.
                _ = try await server.errorLine(with: "/nowhere")
                let url = "http://\(try address(in: try await server.line(with: "ready: ")))"
                let create = ["-h", url, "create", "-l", "127.0.0.1:0", "-u", "127.0.0.1:9", "db"]
                let created = try await withChild(links[1], create) { await $0.finish() }
                #expect(created.output == "Created new proxy db\n")
                let listed = try await withChild(links[1], ["--host=\(url)", "list"]) { await $0.finish() }
                #expect(listed.output.hasPrefix("db\t127.0.0.1:"))
            }
        }
    }

    @Test func `a terminal gets a table`() async throws {
        try await withServer { url in
            let command = "'\(Programs.squall.path)' ctl -h \(url)"
            let empty = try await run("script", ["-qec", "\(command) list", "/dev/null"])
            #expect(empty.output.contains("no proxies"))
            _ = try await output(url, "create -l 127.0.0.1:0 -u 127.0.0.1:9 foo")
            let shown = try await run("script", ["-qec", "\(command) list", "/dev/null"])
            #expect(shown.output.contains(/name  listen +upstream +state +toxics\r\nfoo   127[^\t]*enabled  0\r\n/))
        }
    }
}
