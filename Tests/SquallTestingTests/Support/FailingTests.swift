import Foundation
import SquallTesting
import Testing

/// Tests that fail on purpose: `FailureTests` runs them in a process of their own.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SQUALL_FAILING_TESTS"] == "1"), .timeLimit(.minutes(2)))
struct FailingTests {
    private static let cut = NetworkProfile.faults([.cut(at: 40_000).on(.downstream)])

    @Test(.network(cut, upstream: server.address, seeds: 7...8))
    func expects() async throws {
        let network = try TestNetwork.current
        let count = received(from: network)?.bytes.count
        #expect(network.seed == 8 || count == 100_000)
    }

    @Test(.network(cut, upstream: server.address, seeds: 7...8))
    func requires() async throws {
        let network = try TestNetwork.current
        #expect(received(from: network) != nil)
        try #require(await network.statistics.accepted == 2)
    }

    @Test(.network(cut, upstream: server.address))
    func throwsError() async throws {
        _ = received(from: try TestNetwork.current)
        throw CocoaError(.fileNoSuchFile)
    }

    @Test(.network(cut, upstream: server.address))
    func noConnection() {}

    @Test(.network(cut, upstream: server.address))
    func issueOfNoTest() async { await Task.detached { _ = Issue.record("of no test") }.value }

    @Test(.network(.faults([.cut(at: 1_000_000)]), upstream: server.address))
    func noFault() throws { _ = received(from: try TestNetwork.current) }

    @Test(.network(cut))
    func notConnected() {}

    @Test(.network(.json(#"{ "name": "x", "faults": [ { "kind": "cat" } ] }"#), upstream: server.address))
    func wrongProfile() {}

    @Test(.network(cut, upstream: "nowhere"))
    func wrongAddress() {}

    @Test(.network(cut, upstream: server.address, seeds: [Int]()))
    func noSeeds() {}

    private static let download = ["bash", "-c", "exec 3<>\(device) && cat <&3 2>&- | wc -c"]

    @Test(.network(cut, command: download, seeds: 7...8))
    func process() async throws {
        let process = try TestProcess.current
        #expect(try await process.end() == .exit(0))
        #expect(process.output == (process.seed == 8 ? "40000\n" : "100000\n"))
    }

    @Test(.network(.clear, command: ["sleep", "1000"], seed: 4))
    func isCancelled() async throws {
        withUnsafeCurrentTask { $0?.cancel() }
        _ = try await TestProcess.current.end()
    }

    @Test(.network(cut, command: ["true"]))
    func processWithoutConnection() async throws { _ = try await TestProcess.current.end() }

    @Test(.network(.faults([.cut(at: 1_000_000)]), command: download, seed: 3))
    func processWithoutFault() async throws { _ = try await TestProcess.current.end() }

    @Test(.network(.json(#"{ "name": "x", "faults": [ { "kind": "cat" } ] }"#), command: ["true"]))
    func processWithWrongProfile() {}

    @Test(.network(cut, upstream: server.address))
    func passes() throws { _ = received(from: try TestNetwork.current) }

    @Test(.network(cut, upstream: server.address))
    func isKnown() throws {
        _ = received(from: try TestNetwork.current)
        withKnownIssue { Issue.record("known") }
    }
}
