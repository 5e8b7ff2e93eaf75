import Foundation
import Testing

/// Every shipped profile between Squall's server and client.
@Suite(.timeLimit(.minutes(5))) struct ProfileTests {
    /// The profiles through which a file arrives: a size that takes a few seconds, and the expected resumptions and
    /// connections.
    private static let sizes: [String: (size: String, resumptions: Int, connections: Int)] = [
        "ad-injection": ("1MiB", 0, 2),
        "broken-middlebox": ("1MiB", 1, 3),
        "bufferbloat": ("2MiB", 0, 1),
        "busy-cell": ("1MiB", 0, 1),
        "cell-edge": ("1MiB", 0, 1),
        "cut-every-mebibyte": ("8MiB", 8, 9),
        "elevator": ("1MiB", 0, 1),
        "flapping": ("1MiB", 1, 2),
        "first-two-fail": ("1MiB", 2, 3),
        // What is repeated before a cut at the same byte of the file ends there again: two connections for each cut.
        "flaky-api": ("1MiB", 6, 8),
        "full-server": ("256KiB", 0, 1),
        "half-open": ("512KiB", 1, 2),
        "lost-answer": ("256KiB", 0, 2),
        "slow-3g": ("48KiB", 0, 1),
        "slow-accept": ("256KiB", 0, 1),
        "slow-reader": ("512KiB", 0, 1),
        "slow-start-stall": ("300KiB", 0, 1),
        "small-writes": ("256KiB", 0, 1),
        "wifi-edge-loss": ("300KiB", 0, 1),
        "wifi-roam": ("4MiB", 0, 1),
        "wifi-walkaway": ("4MiB", 0, 1),
    ]

    @Test func `every shipped profile has its test here`() {
        #expect(Set(ProfileTests.sizes.keys).union(["dead-server", "tls-gauntlet"]) == Set(Repository.profiles))
    }

    @Test(arguments: ProfileTests.sizes.keys.sorted())
    func `a file arrives byte for byte through a shipped profile`(name: String) async throws {
        let (size, resumptions, connections) = try #require(ProfileTests.sizes[name])
        let outcome = try await squall("demo", name, "--size", size, "--seed", "7", "--events", "json")
        #expect(outcome.status == 0)
        #expect(outcome.complaints.isEmpty)
        let told = try decoded(outcome.milestones, as: Event.self)
        let events = told.filter { $0.transfer == "download" }
        #expect(told.last?.transfer == "upload" && told.last?.equal == true)
        let finished = try #require(events.first { $0.event == "finished" })
        let verdict = try #require(events.last)
        #expect(verdict.event == "proved")
        #expect(verdict.equal == true)
        #expect(verdict.sent == verdict.received)
        #expect(verdict.sent == finished.sha256)
        #expect(verdict.seed == 7)
        #expect(try #require(verdict.faults) > 0, "no fault of the profile acted")
        #expect(finished.resumptions == resumptions)
        #expect(finished.connections == connections)
        #expect(verdict.resumedAt?.count == resumptions)
    }

    @Test func `the dead server refuses every connection, and its port stays taken`() async throws {
        try await withOrigin(size: 1_000) { origin in
            try await withProxy("dead-server", to: origin, ["--journal", "-"]) { proxy, address in
                _ = try await proxy.line(with: "refuses")
                for _ in 0..<3 {
                    let curl = try await run("curl", ["-s", "http://\(address)/file.bin"])
                    #expect(curl.status == 7, "7 is curl's code for a refused connection")
                }
                let second = try await squall("run", "slow-3g", "--listen", address, "--upstream", origin)
                #expect(second.status == 1)
                #expect(second.errors.contains("Address already in use"))
            }
        }
    }
}
