import EventLoop
import Foundation
import Glibc
import TestSockets
import Testing

/// `when.host` in `squall run --listen --upstream`, by the names in the clients' first bytes.
@Suite(.timeLimit(.minutes(5))) struct FirstBytesTests {
    private static let profile = """
        { "name": "one", "faults": [
            { "kind": "cut", "stream": "downstream", "at": "64 KiB", "when": { "host": "*.cut.example" } },
            { "kind": "connect", "how": "delay", "for": "50 ms", "when": { "host": "b.cut.example" } } ] }
        """

    /// Gets `file.bin` of `name` through the proxy at `address`; returns curl's status and the bytes of the body.
    private func get(_ name: String, _ scheme: String, at address: String) async throws -> (status: Int32, count: Int) {
        try await withFolder { folder in
            let port = address.split(separator: ":")[1]
            let file = folder.appendingPathComponent("file")
            let options = [
                "-sS", "-k", "--http1.1", "--noproxy", "*", "--max-time", "60", "-o", file.path, "--resolve",
                "\(name):\(port):127.0.0.1",
            ]
            let outcome = try await run("curl", options + ["\(scheme)://\(name):\(port)/file.bin"])
            return (outcome.status, (try? Data(contentsOf: file).count) ?? 0)
        }
    }

    /// A server of `file.bin` with 300,000 bytes, over TLS or not.
    private func withServer(_ scheme: String, _ body: (String) async throws -> Void) async throws {
        try await withOrigin(size: 300_000, isSecure: scheme == "https") { try await body($0.address) }
    }

    /// One name is cut, another late as well, and the others whole.
    private func check(_ scheme: String, at address: String) async throws {
        for (name, isCut) in [
            ("a.cut.example", true), ("cut.example", false), ("B.CUT.example", true), ("a.example", false),
        ] {
            let (status, count) = try await get(name, scheme, at: address)
            #expect((status == 0) == !isCut, "\(name)")
            #expect(isCut ? count < 65_536 : count == 300_000, "\(name): \(count)")
        }
    }

    @Test(arguments: ["http", "https"])
    func `one host of a server is cut and the others are whole, and a replay does the same`(scheme: String) async throws
    {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            let again = folder.appendingPathComponent("again.jsonl")
            try await withServer(scheme) { server in
                try await withProxy(FirstBytesTests.profile, to: server, ["--journal", recording.path]) {
                    proxy,
                    address in
                    try await check(scheme, at: address)
                    proxy.signal(SIGINT)
                    #expect(await proxy.finish().status == 0)
                }
                let first = try journal(at: recording)
                #expect(first.map(\.what) == ["resets", "connects late", "resets"])
                #expect(first.map(\.connection) == [1, 3, 3])
                #expect(first.map(\.offset) == [65_536, nil, 65_536])
                let arguments = ["replay", recording.path, "--journal", again.path]
                try await withChild(Programs.squall, arguments) { child in
                    try await check(scheme, at: address(in: child.line(with: "ready: ")))
                    child.signal(SIGINT)
                    #expect(await child.finish().status == 0)
                }
                #expect(try journal(at: again) == first)
            }
        }
    }

    @Test func `a server that speaks first isn't waited for`() async throws {
        let server = ByteServer(Array("220 ready\r\n".utf8))
        try await withProxy(FirstBytesTests.profile, to: server.address) { child, address in
            let port = try #require(Int(address.split(separator: ":")[1]))
            let answer = received(from: "127.0.0.1", port)
            #expect(answer?.bytes == Array("220 ready\r\n".utf8))
            child.signal(SIGINT)
            let outcome = await child.finish()
            #expect(outcome.status == 0)
            #expect(!outcome.errors.contains("never acts"))
        }
    }
}
