import Foundation
import Testing

/// The clients of Toxiproxy against the built command, by the programs of Tests/System/control.
@Suite(.timeLimit(.minutes(5))) struct ToxiproxyClientTests {
    private static let folder = Repository.root.appendingPathComponent("Tests/System/control")
    private static let libraries = Repository.root.appendingPathComponent(".build/clients")

    @Test func `the API does what every client relies on`() async throws {
        try await ToxiproxyClientTests.pass("toxiproxy_contract.py")
    }

    @Test func `mounted profiles and proxies are those of docker/kubernetes, and changes of them are taken over`()
        async throws
    {
        try await ToxiproxyClientTests.pass("served_profiles.py")
    }

    @Test func `clients without a token, clients that leave, and long documents cost the server next to nothing`()
        async throws
    {
        try await ToxiproxyClientTests.pass("control_limits.py")
    }

    @Test func `every client of a proxy whose upstream is down connects, and gets the end of the stream`() async throws
    {
        try await ToxiproxyClientTests.pass("unreached.py")
    }

    @Test func `every command says a sentence or serves with few descriptors, and none spins`() async throws {
        try await ToxiproxyClientTests.pass("descriptors.py")
    }

    @Test func `the published library for Python works`() async throws {
        let library = ToxiproxyClientTests.libraries.appendingPathComponent("toxiproxy").path
        try #require(
            FileManager.default.fileExists(atPath: library),
            "toxiproxy-python is missing: `make test` installs it, or run scripts/install.sh test"
        )
        try await ToxiproxyClientTests.pass("python_client.py")
    }

    /// Runs a program of Tests/System/control, which has to succeed.
    private static func pass(_ name: String) async throws {
        let program = folder.appendingPathComponent(name).path
        let environment = ["SQUALL": Programs.squall.path, "PYTHONPATH": libraries.path]
        let outcome = try await withChild(Programs.find("python3"), [program], environment: environment) {
            await $0.finish()
        }
        #expect(outcome.status == 0, "\(outcome.errors)")
    }
}
