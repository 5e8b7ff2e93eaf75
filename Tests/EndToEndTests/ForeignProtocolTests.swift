import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import Glibc
import TestProtocols
import TestSockets
import Testing
import Units

/// Protocols other than HTTP through shipped profiles that parse HTTP.
@Suite(.timeLimit(.minutes(5))) struct ForeignProtocolTests {
    /// The shipped profiles and presets that parse connections, or can't be decoded here.
    private static let profiles = (Repository.profiles + Repository.presets).filter { name in
        guard let profile = try? decoded(name) else { return true }
        var admitter = Admitter(Plan(profile: profile, seed: 1, proxy: "proxy", start: .zero))
        return (1...8).contains { _ in admitter.accept(at: .zero).reading.messages }
    }

    private static func decoded(_ name: String) throws -> Profile {
        try ProfileReader.profile(from: shipped(name)) { reference in
            let found =
                switch reference {
                case .shipped(let name):
                    try? shipped(name)
                case .path(let path), .certificate(let path):
                    try? source(path)
                case .trace(let path):
                    // A rate doesn't affect parsing.
                    ProfileSource(file: path, bytes: Array("1\n".utf8))
                }
            return found.map { .success($0) }
                ?? .failure(ResolutionError(what: "it isn't in the folder", remedy: "put it there"))
        }
    }

    /// A scenario, or a preset.
    private static func shipped(_ name: String) throws -> ProfileSource {
        for file in Repository.presetFiles {
            var preset = try source(file)
            guard PresetFile(preset)?.names.contains(name) == true else { continue }
            preset.preset = name
            return preset
        }
        return try source("Profiles/\(name).json")
    }

    private static func source(_ path: String) throws -> ProfileSource {
        ProfileSource(file: path, bytes: Array(try Data(contentsOf: Repository.root.appendingPathComponent(path))))
    }

    @Test func `are tried with the profiles that read, and not with all`() {
        #expect(ForeignProtocolTests.profiles.contains("flaky-api"))
        #expect(ForeignProtocolTests.profiles.count < Repository.profiles.count)
    }

    @Test(arguments: profiles)
    func `have their first messages passed byte for byte`(profile: String) async throws {
        let (listener, server) = TestSocket.listening()
        try await withProxy(profile, to: "127.0.0.1:\(server.port)") { _, address in
            let proxy = ForeignProtocolTests.address(address)
            for message in FirstMessage.all {
                try await ForeignProtocolTests.exchange(message, through: proxy, to: listener)
            }
        }
    }

    @Test func `leave the reason in the journal, and one without it is replayed as well`() async throws {
        try await withFolder { folder in
            let recording = folder.appendingPathComponent("journal.jsonl")
            let (listener, server) = TestSocket.listening()
            let upstream = "127.0.0.1:\(server.port)"
            try await withProxy("flaky-api", to: upstream, ["--journal", recording.path]) { proxy, address in
                try await ForeignProtocolTests.exchange(
                    FirstMessage.all[0],
                    through: ForeignProtocolTests.address(address),
                    to: listener
                )
                proxy.signal(SIGINT)
                #expect(await proxy.finish().status == 0)
            }
            let text = try String(contentsOf: recording, encoding: .utf8)
            let reason = #","why":"not-http""#
            #expect(text.contains(reason))
            // As written by a version without reasons.
            try text.replacingOccurrences(of: reason, with: "").write(to: recording, atomically: true, encoding: .utf8)
            try await withChild(Programs.squall, ["replay", recording.path]) { child in
                _ = try await child.line(with: "ready: ")
                child.signal(SIGINT)
                #expect(await child.finish().status == 0)
            }
        }
    }

    @Test(arguments: ["run", "serve"])
    func `are named once by the proxy, with what follows for faults of HTTP messages`(command: String) async throws {
        let (listener, server) = TestSocket.listening()
        let upstream = "127.0.0.1:\(server.port)"
        let say = "the stream is TLS, so faults of HTTP messages can't act on it"
        let hello = try #require(FirstMessage.all.first { $0.name == "TLS" })
        func talk(_ child: Child, _ address: String) async throws {
            for _ in 0..<3 {
                let proxy = ForeignProtocolTests.address(address)
                try await ForeignProtocolTests.exchange(hello, through: proxy, to: listener)
            }
            child.signal(SIGINT)
            let outcome = await child.finish()
            #expect(outcome.status == 0)
            #expect(outcome.errorLines.filter { $0.contains(say) }.count == 1, "\(outcome)")
        }
        if command == "run" { return try await withProxy("flaky-api", to: upstream) { try await talk($0, $1) } }
        try await withFolder { folder in
            let text = """
                [ { "name": "app", "listen": "127.0.0.1:0", "upstream": "\(upstream)", "profile": { "name": "x",
                    "faults": [ { "kind": "http", "answer": { "status": 503 } } ] } } ]
                """
            try Data(text.utf8).write(to: folder.appendingPathComponent("proxies.json"))
            let words = ["serve", "--host", "127.0.0.1", "--port", "0", "--config", "proxies.json"]
            try await withChild(Programs.squall, words, folder: folder) { child in
                let ready = try await child.line(with: "ready: ")
                let place = try #require(ready.firstMatch(of: /127\.0\.0\.1:[0-9]+/)?.output)
                let proxy = try await run("curl", ["-sS", "http://\(place)/proxies/app"])
                let listen = try #require(proxy.output.firstMatch(of: /"listen": *"([^"]*)"/)?.output.1)
                try await talk(child, String(listen))
            }
        }
    }

    private static func address(_ text: String) -> SocketAddress? {
        SocketAddress(numericHost: "127.0.0.1", port: UInt16(text.split(separator: ":")[1]) ?? 0)
    }

    /// Sends the message in one direction and echoes it.
    private static func exchange(
        _ message: FirstMessage,
        through proxy: SocketAddress?,
        to listener: TestSocket
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let client = try TestSocket.connected(to: #require(proxy)).get()
                        let server = try listener.accepted()
                        let (first, second) = message.isServers ? (server, client) : (client, server)
                        try first.send(message.bytes)
                        #expect(try second.receive(exactly: message.bytes.count) == message.bytes, "\(message)")
                        try second.send(message.bytes)
                        #expect(try first.receive(exactly: message.bytes.count) == message.bytes, "\(message)")
                    }
                )
            }
        }
    }
}
