import ArgumentParser
import CommandParsing
import EventLoop
import ProxyRunners
import Testing

/// `--only` and `--except`.
@Suite struct TargetSelectionTests {
    private static func contains(_ target: String, _ arguments: [String]) async throws -> Bool {
        let selection = try await TargetSelection(TargetOptions.parse(arguments))
        let endpoint = try #require(Endpoint(target))
        return selection.contains(try #require(SocketAddress(numericHost: endpoint.host, port: endpoint.port)))
    }

    @Test(arguments: ["localhost", "LOCALHOST.", "app.localhost"])
    func `localhost is both addresses of loopback, whatever the file of hosts has`(name: String) async throws {
        for target in ["127.0.0.1:80", "[::1]:80"] {
            #expect(try await Self.contains(target, ["--only", "\(name):80"]))
            #expect(try await !Self.contains(target, ["--except", name]))
        }
        #expect(try await !Self.contains("[::1]:81", ["--only", "\(name):80"]))
        #expect(try await !Self.contains("192.0.2.7:80", ["--only", name]))
    }

    @Test func `a name without an address is wrong input`() async {
        await #expect(throws: (any Error).self) {
            try await Self.contains("127.0.0.1:80", ["--only", "nonexistent.invalid"])
        }
    }
}
