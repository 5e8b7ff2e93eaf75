import EventLoop
import FaultPlan
import FaultProfile
import Foundation
import TestProtocols
import TestSockets
import Testing
import Units

/// Protocols other than HTTP through the shipped profiles that have messages of HTTP read.
@Suite(.timeLimit(.minutes(5))) struct ForeignProtocolTests {
    /// The shipped profiles and presets of which a connection is read, or that can't be decoded here.
    private static let profiles = (Repository.profiles + Repository.presets).filter { name in
        let folder = Repository.profiles.contains(name) ? "Profiles" : "Profiles/presets"
        guard let profile = try? decoded("\(folder)/\(name).json") else { return true }
        var plan = Plan(profile: profile, seed: 1, proxy: "proxy", start: .zero)
        return (1...8).contains { _ in plan.accept(at: .zero).reading.messages }
    }

    private static func decoded(_ path: String) throws -> Profile {
        try ProfileReader.profile(from: source(path)) { reference in
            let found =
                switch reference {
                case .shipped(let name):
                    (try? source("Profiles/\(name).json")) ?? (try? source("Profiles/presets/\(name).json"))
                case .path(let path), .trace(let path):
                    try? source(path)
                }
            return found.map { .success($0) }
                ?? .failure(ResolutionError(what: "it isn't in the folder", remedy: "put it there"))
        }
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
            let proxy = SocketAddress(
                numericHost: "127.0.0.1",
                port: UInt16(address.split(separator: ":")[1]) ?? 0
            )
            for message in FirstMessage.all {
                try await ForeignProtocolTests.exchange(message, through: proxy, to: listener)
            }
        }
    }

    /// The message goes one way and comes back the other.
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
