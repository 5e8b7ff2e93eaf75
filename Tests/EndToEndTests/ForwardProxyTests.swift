import Foundation
import Testing

/// `squall run --forward-proxy`, with curl as the client.
@Suite(.timeLimit(.minutes(5))) struct ForwardProxyTests {
    /// Runs a forward proxy on loopback during `body`, which gets its address and the child.
    private func withForwardProxy<Result>(
        _ profile: String = "{ \"name\": \"none\" }",
        _ options: [String] = [],
        environment: [String: String] = [:],
        _ body: (String, Child) async throws -> Result
    ) async throws -> Result {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("profile.json")
            try Data(profile.utf8).write(to: file)
            let arguments = ["run", file.path, "--forward-proxy", ":0"] + options
            return try await withChild(Programs.squall, arguments, environment: environment) { child in
                try await body(address(in: child.line(with: "ready: ")), child)
            }
        }
    }

    /// Runs curl; proxies of the machine don't count.
    private func curl(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> Outcome {
        var variables = ["no_proxy": "", "NO_PROXY": "", "http_proxy": "", "HTTPS_PROXY": "", "https_proxy": ""]
        variables["ALL_PROXY"] = ""
        variables.merge(environment) { $1 }
        let options = ["-sS", "--max-time", "60"]
        return try await withChild(Programs.find("curl"), options + arguments, environment: variables) {
            await $0.finish()
        }
    }

    /// Whether curl gets the whole file by these arguments.
    private func getsFile(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> Bool {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("file")
            let outcome = try await curl(["-f", "-o", file.path] + arguments, environment)
            return try outcome.status == 0 && Data(contentsOf: file) == bytes(300_000)
        }
    }

    @Test func `the ready lines say where it listens, and what has a shell use it`() async throws {
        try await withForwardProxy { address, child in
            let export = try await child.line(with: "export")
            #expect(export == "export HTTPS_PROXY=http://\(address) http_proxy=http://\(address)")
        }
    }

    @Test func `curl gets a file through it in every way`() async throws {
        try await withOrigin(size: 300_000) { origin in
            let url = "http://\(origin)/file.bin"
            let named = url.replacing("127.0.0.1", with: "localhost")
            try await withForwardProxy { address, _ in
                #expect(try await getsFile([url], ["http_proxy": "http://\(address)"]))
                #expect(try await getsFile(["-p", "-x", "http://\(address)", named]))
                #expect(try await getsFile(["-x", "socks5://\(address)", url]))
                #expect(try await getsFile(["-x", "socks5h://\(address)", named]))
                // One call, two servers.
                let two = try await curl(["-x", "http://\(address)", "-o", "/dev/null", url, "http://127.0.0.1:1/"])
                #expect(two.output.contains("squall: can't connect to 127.0.0.1:1: Connection refused"))
            }
        }
    }

    @Test func `curl gets a file over TLS by HTTPS_PROXY`() async throws {
        try await withOrigin(size: 300_000, isSecure: true) { origin in
            try await withForwardProxy { address, _ in
                let arguments = ["-k", "\(origin.url)/file.bin"]
                let isWhole = try await getsFile(arguments, ["HTTPS_PROXY": "http://\(address)"])
                #expect(isWhole)
            }
        }
    }

    @Test func `a cut acts at its offset behind the handshake`() async throws {
        let profile = """
            { "name": "cut", "faults": [ { "kind": "cut", "stream": "downstream", "at": "64 KiB", "how": "reset" } ] }
            """
        try await withOrigin(size: 300_000) { origin in
            try await withForwardProxy(profile) { address, _ in
                for options in [["-x", "http://\(address)"], ["-p", "-x", "http://\(address)"]] {
                    // curl prints the response to CONNECT as well, unless told otherwise.
                    let arguments = options + ["--suppress-connect-headers", "-i", "http://\(origin)/file.bin"]
                    try await withFolder { folder in
                        let file = folder.appendingPathComponent("file")
                        let outcome = try await curl(["-o", file.path] + arguments)
                        #expect(outcome.status == 56)
                        #expect(try Data(contentsOf: file).count == 65_536)
                    }
                }
            }
        }
    }

    @Test func `a fault for a host leaves other hosts alone`() async throws {
        let profile = """
            { "name": "one", "faults": [
                { "kind": "cut", "stream": "downstream", "at": "64 KiB", "when": { "host": "*.cut.example" } } ] }
            """
        try await withOrigin(size: 300_000) { origin in
            let port = origin.split(separator: ":")[1]
            try await withForwardProxy(profile) { address, _ in
                // Only curl knows these names: by socks5 it looks them up, and the proxy sees the address, and then `Host`.
                for (name, isCut) in [("a.cut.example", true), ("cut.example", false)] {
                    let resolve = ["--resolve", "\(name):\(port):127.0.0.1"]
                    let url = "http://\(name):\(port)/file.bin"
                    let isWhole = try await getsFile(resolve + ["-x", "socks5://\(address)", url])
                    #expect(isWhole == !isCut)
                }
                let named = profile.replacing("*.cut.example", with: "LOCALHOST")
                try await withForwardProxy(named) { address, _ in
                    let outcome = try await curl(
                        ["-o", "/dev/null", "-x", "http://\(address)", "http://localhost:\(port)/file.bin"]
                    )
                    #expect(outcome.status == 56)
                    let isWhole = try await getsFile(["-x", "http://\(address)", "http://\(origin)/file.bin"])
                    #expect(isWhole)
                }
            }
        }
    }

    @Test func `--host and "when" of a profile leave other hosts alone`() async throws {
        let faults = #""faults": [ { "kind": "cut", "stream": "downstream", "at": "64 KiB" } ]"#
        try await withOrigin(size: 300_000) { origin in
            let port = try #require(origin.split(separator: ":").last)
            let all = "{ \"name\": \"all\", \(faults) }"
            let narrowed = "{ \"name\": \"one\", \"when\": { \"host\": \"localhost:\(port)\" }, \(faults) }"
            for (profile, options) in [(all, ["--host", "localhost:\(port)"]), (narrowed, [])] {
                try await withForwardProxy(profile, options) { address, _ in
                    let url = "http://localhost:\(port)/file.bin"
                    let cut = try await getsFile(["-x", "http://\(address)", url])
                    #expect(!cut)
                    let isWhole = try await getsFile(["-x", "http://\(address)", "http://\(origin)/file.bin"])
                    #expect(isWhole)
                }
            }
        }
    }

    @Test func `serve has one, whose network the API changes`() async throws {
        try await withOrigin(size: 300_000) { origin in
            let arguments = ["serve", "--port", "0", "--forward-proxy", ":0"]
            try await withChild(Programs.squall, arguments) { server in
                let ready = try await server.line(with: "ready: ")
                let api = String(try #require(ready.firstMatch(of: /http:[^ ]*/)).output)
                let line = try await server.line(with: "forward proxy: ")
                #expect(line.hasSuffix(" -> any host (proxy “forward”)"))
                let proxy = "http://\(try address(in: line))"
                #expect(try await server.line(with: "export") == "export HTTPS_PROXY=\(proxy) http_proxy=\(proxy)")
                let url = "http://\(origin)/file.bin"
                #expect(try await getsFile(["-x", proxy, url]))
                let cut = #"{"kind":"cut","stream":"downstream","at":"64 KiB"}"#
                let added = try await curl(["-f", "-X", "PUT", "-d", cut, "\(api)/v1/proxies/forward/faults/cut"])
                #expect(added.status == 0)
                #expect(try await curl(["-o", "/dev/null", "-x", proxy, url]).status == 56)
            }
        }
    }

    @Test func `a phone's requests for its configuration take no number`() async throws {
        let profile = """
            { "name": "first", "faults": [
                { "kind": "cut", "stream": "downstream", "at": "64 KiB", "when": { "connection": "1..2" } } ] }
            """
        try await withOrigin(size: 300_000) { origin in
            try await withForwardProxy(profile) { address, _ in
                for options in [[], ["--http1.0", "-H", "Host:"]] {
                    let file = try await curl(["-f"] + options + ["http://\(address)/proxy.pac?v=1"])
                    #expect(file.output.contains("PROXY \(address)"))
                }
                for isWhole in [false, false, true] {
                    let isReceived = try await getsFile(["-x", "http://\(address)", "http://\(origin)/file.bin"])
                    #expect(isReceived == isWhole)
                }
            }
        }
    }

    @Test func `a password is asked for`() async throws {
        try await withOrigin(size: 300_000) { origin in
            let url = "http://\(origin)/file.bin"
            let environment = ["SQUALL_PROXY_PASSWORD": "p4ss"]
            try await withForwardProxy(environment: environment) { address, child in
                let export = try await child.line(with: "export")
                #expect(export.contains("http://any:PASSWORD@\(address) "))
                #expect(try await getsFile(["-x", "http://anna:p4ss@\(address)", url]))
                #expect(try await getsFile(["-p", "-x", "http://:p4ss@\(address)", url]))
                #expect(try await getsFile(["-x", "socks5h://anna:p4ss@\(address)", url]))
                let code = ["-o", "/dev/null", "-w", "%{http_code}"]
                #expect(try await curl(code + ["-x", "http://\(address)", url]).output == "407")
                #expect(try await curl(code + ["-x", "http://anna:no@\(address)", url]).output == "407")
                #expect(try await curl(["-x", "socks5h://anna:no@\(address)", url]).status == 97)
            }
        }
    }

    @Test func `a password comes from a file`() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("password")
            try Data("p4ss\r\nnot this\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
            try await withOrigin(size: 300_000) { origin in
                try await withForwardProxy("{ \"name\": \"none\" }", ["--proxy-password-file", file.path]) {
                    address,
                    _ in
                    let isWhole = try await getsFile(["-x", "http://any:p4ss@\(address)", "http://\(origin)/file.bin"])
                    #expect(isWhole)
                }
            }
        }
    }

    @Test func `its journal is replayed with --forward-proxy, the same faults at the same bytes`() async throws {
        let profile = """
            { "name": "busy", "seed": 7, "faults": [
                { "kind": "cut", "stream": "downstream", "between": ["5 KB", "290 KB"], "when": { "chance": "60 %" } },
                { "kind": "stall", "stream": "downstream", "at": "3 KB", "for": "2 ms",
                  "when": { "host": "localhost", "chance": "50 %" } } ] }
            """
        try await withFolder { folder in
            func path(_ name: String) -> URL { folder.appendingPathComponent(name) }
            try await withOrigin(size: 300_000) { origin in
                let hosts = [origin, origin.replacing("127.0.0.1", with: "localhost")]
                // One connection after the other, by each of the proxy's protocols.
                func fetch(_ address: String) async throws {
                    for options in [["-x", "http://\(address)"], ["-p", "-x", "http://\(address)"]] {
                        for url in hosts.map({ "http://\($0)/file.bin?[1-6]" }) {
                            _ = try await curl(options + ["-o", "/dev/null", "-H", "Connection: close", url])
                        }
                    }
                    _ = try await curl(["-x", "socks5h://\(address)", "-o", "/dev/null", "http://\(hosts[1])/file.bin"])
                }
                try await withForwardProxy(profile, ["--journal", path("a.jsonl").path]) { address, proxy in
                    try await fetch(address)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                let first = try journal(at: path("a.jsonl"))
                #expect(first.count { $0.what == "resets" } > 5)
                #expect(first.count { $0.what == "stalls" } > 1)
                for (recording, again) in [("a.jsonl", "b.jsonl"), ("b.jsonl", "c.jsonl")] {
                    let arguments = ["replay", path(recording).path, "--forward-proxy", ":0"]
                    try await withChild(Programs.squall, arguments + ["--journal", path(again).path]) { proxy in
                        let ready = try await proxy.line(with: "ready: ")
                        #expect(ready.contains(" -> any host (proxy “proxy”"))
                        #expect(try await proxy.line(with: "export").contains("http_proxy="))
                        try await fetch(address(in: ready))
                        proxy.signal(SIGINT)
                        #expect(await proxy.finish().status == 0)
                    }
                    #expect(try journal(at: path(again)) == first)
                }
                let none = try await squall("replay", path("a.jsonl").path)
                #expect(none.status == 2)
                let reason = "squall: the clients of the journal's proxy named the hosts: give --forward-proxy PORT"
                #expect(none.errors.hasPrefix(reason))
                let both = ["replay", path("a.jsonl").path, "--forward-proxy", ":0", "--upstream", origin]
                let refused = try await squall(both)
                #expect(refused.status == 2)
                #expect(refused.errors.hasPrefix("Error: --forward-proxy takes the place of --listen and --upstream"))
                let one = ["replay", path("a.jsonl").path, "--upstream", origin]
                try await withChild(Programs.squall, one) { proxy in
                    let ready = try await proxy.line(with: "ready: ")
                    #expect(ready.contains(" -> \(origin) (proxy “proxy”"))
                }
            }
        }
    }

    @Test(arguments: [
        (["--forward-proxy", "0.0.0.0:0"], "squall: on 0.0.0.0:0 other machines could use this proxy"),
        (["--forward-proxy", "[::]:0"], "squall: on [::]:0 other machines could use this proxy"),
        (["--forward-proxy", ":0", "--proxy-password-file", "/nonexistent"], "squall: can't read “/nonexistent”"),
        (["--forward-proxy", ":0", "--proxy-password-file", "/dev/null"], "squall: "),
        (["--forward-proxy", ":0", "--allow-client", "10.0.0.1/8"], "Error: "),
        (["--forward-proxy", ":0", "--listen", "127.0.0.1:0", "--upstream", "a:1"], "Error: --forward-proxy takes"),
        (["--forward-proxy", ":x"], "Error: "), (["--allow-local-targets"], "Error: --allow-local-targets is for"),
    ])
    func `options that can't be right are exit 2`(options: [String], message: String) async throws {
        let outcome = try await squall(["run", "slow-3g"] + options)
        #expect(outcome.status == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.hasPrefix(message), "\(outcome.errors)")
    }
}
