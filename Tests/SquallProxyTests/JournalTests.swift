import Foundation
import SquallProxy
import TestSockets
import Testing
import Units

/// The journal of a proxy in memory.
@Suite(.timeLimit(.minutes(2))) struct JournalTests {
    private struct Header: Decodable {
        struct Entry: Decodable {
            var name: String
            var seed: UInt64
        }

        struct Trace: Decodable { var file: String }

        var digest: String
        var event: String
        var proxies: [Entry]
        var time: String
        var traces: [Trace]?
        var version: String
    }

    private func header(_ profile: NetworkProfile) async throws -> Header {
        let proxy = try await FaultProxy.start(profile, to: "127.0.0.1:9", name: "web", seed: 3)
        let journal = await proxy.journal
        await proxy.stop()
        #expect(journal.hasSuffix("\n"))
        let line = try #require(journal.split(separator: "\n").first)
        return try JSONDecoder().decode(Header.self, from: Data(line.utf8))
    }

    @Test func `begins with a header, whose version is that of the command`() async throws {
        let header = try await header(.profile("wifi-roam"))
        #expect(header.event == "journal" && header.digest.count == 64 && header.traces == nil)
        #expect(header.proxies.map(\.name) == ["web"] && header.proxies.map(\.seed) == [3])
        #expect(header.version == Version.current)
    }

    @Test func `has the time of its beginning`() async throws {
        func now() -> String { Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
        let before = now()
        let time = try await header(.profile("slow-3g")).time
        let after = now()
        #expect(time.count == before.count && time.hasSuffix("Z"), "\(time)")
        // The last digit may be rounded otherwise.
        #expect(time >= before.dropLast(2) && time.dropLast(2) <= after, "\(time), from \(before) to \(after)")
    }

    @Test func `names a shipped trace by its path in the folder of profiles`() async throws {
        #expect(try await header(.profile("cell-edge")).traces?.map(\.file) == ["traces/cell-edge.trace"])
    }
}
