import Foundation
import Glibc
import TestSockets
import TestStreams
import Testing

/// `squall run` between Unix sockets.
@Suite("squall run with Unix sockets", .timeLimit(.minutes(5)))
struct UnixSocketCommandTests {
    private func run<Result>(
        _ listen: String,
        _ upstream: String,
        _ arguments: [String] = [],
        profile: String = "slow-3g",
        in folder: Folder,
        _ body: (Child) async throws -> Result
    ) async throws -> Result {
        try await withChild(
            Programs.squall,
            ["run", profile, "--listen", listen, "--upstream", upstream, "--seed", "5"] + arguments,
            folder: URL(filePath: folder.path),
            body
        )
    }

    @Test func `forwards between every two kinds of address, and its lines and journal tell them`() async throws {
        let folder = try Folder()
        let path = "unix:\(folder.path)/inner"
        let profile = """
            { "name": "cut", "faults": [
                { "kind": "cut", "stream": "downstream", "at": "10 KB", "how": "close", "when": { "connection": 2 } } ] }
            """
        try Data(profile.utf8).write(to: URL(filePath: "\(folder.path)/cut.json"))
        try await withOrigin(size: 50_000) { origin in
            try await run(path, origin, profile: "./cut.json", in: folder) { inner in
                let ready = try await inner.line(with: "ready")
                #expect(ready.hasPrefix("ready: \(path) -> \(origin) (proxy “proxy”"))
                let arguments = ["--journal", "outer.jsonl"]
                try await run("unix:outer", "unix:inner", arguments, profile: "./cut.json", in: folder) { outer in
                    let ready = try await outer.line(with: "ready")
                    #expect(ready.hasPrefix("ready: unix:outer -> unix:inner (proxy"))
                    #expect(folder.permissions(of: "outer") == 0o600)
                    let curl = [
                        "-s", "-o", "/dev/null", "-w", "%{http_code} %{size_download}", "--unix-socket",
                        "\(folder.path)/outer", "http://localhost/file.bin",
                    ]
                    let first = try await EndToEndTests.run("curl", curl)
                    #expect(first.output == "200 50000")
                    let second = try await EndToEndTests.run("curl", curl)
                    #expect(second.status == 18)
                    outer.signal(SIGTERM)
                    let outcome = await outer.finish()
                    #expect(outcome.status == 0)
                }
                inner.signal(SIGTERM)
                let outcome = await inner.finish()
                #expect(outcome.complaints.isEmpty)
            }
        }
        let journal = try String(contentsOf: URL(filePath: "\(folder.path)/outer.jsonl"), encoding: .utf8)
        #expect(journal.contains("\"upstream\":\"\(path)\""))
        #expect(journal.contains("\"what\":\"closes\""))
        #expect(folder.names.sorted() == ["cut.json", "outer.jsonl"])
    }

    @Test func `sets the permissions that it is told, and replaces what a killed one has left`() async throws {
        let folder = try Folder()
        for _ in 0..<2 {
            try await run("unix:s", "unix:@none", ["--listen-mode", "0666"], in: folder) { proxy in
                _ = try await proxy.line(with: "ready")
                #expect(folder.permissions(of: "s") == 0o666)
                proxy.signal(SIGKILL)
                _ = await proxy.finish()
            }
            #expect(folder.names == ["s"])
        }
    }

    @Test func `says what is in its way`() async throws {
        let folder = try Folder()
        try folder.write([], to: "file")
        let live = TestSocket.listening(at: try #require(try folder.address("live").unix))
        let cases = [
            (
                "unix:file", 1,
                "squall: can't listen on unix:file: a file is there that isn't a socket, and stays (bind, errno 88)"
            ),
            (
                "unix:live", 1,
                "squall: can't listen on unix:live: Address already in use (bind, errno 98); stop the program that listens "
                    + "there, or take another name"
            ),
            ("unix:none/s", 1, "squall: can't listen on unix:none/s: No such file or directory (bind, errno 2)"),
        ]
        for (listen, status, text) in cases {
            let outcome = try await run(listen, "127.0.0.1:9", in: folder) { await $0.finish() }
            #expect(outcome.status == status)
            #expect(outcome.errors == text + "\n")
        }
        live.close()
        #expect(folder.names == ["file", "live"])
        let ring = try await run("unix:s", "unix:\(folder.path)/s", in: folder) { await $0.finish() }
        #expect(ring.status == 2)
        #expect(ring.errors.hasPrefix("squall: the proxy “proxy” would forward to itself: "))
    }

    @Test(arguments: [
        (
            "unix:",
            "“unix:” has no name: write a path such as “unix:/run/app.sock”, or an abstract name such as “unix:@app”"
        ),
        ("unix:/run/", "“/run/” is a folder: write the path of the socket in it"),
        ("unix:80", "“unix:80” may be a port of the host “unix” or a file: write “unix:./80” for the file"),
    ])
    func `says of a name that is none why`(name: String, reason: String) async throws {
        let outcome = try await squall("run", "slow-3g", "--listen", name, "--upstream", "127.0.0.1:9")
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(reason))
    }

    @Test func `takes a mode for the path of a socket alone`() async throws {
        for listen in ["127.0.0.1:0", "unix:@app"] {
            let outcome = try await squall(
                words: "run slow-3g --listen \(listen) --listen-mode 0660 --upstream 127.0.0.1:9"
            )
            #expect(outcome.status == 2)
            #expect(outcome.errors.contains("--listen-mode is for --listen unix:PATH"))
        }
        let outcome = try await squall(words: "run slow-3g --listen unix:/s --listen-mode rw --upstream 127.0.0.1:9")
        #expect(outcome.errors.contains("“rw” is no file mode: write three octal digits"))
    }
}
