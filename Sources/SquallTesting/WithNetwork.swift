internal import Foundation
public import SquallProxy
internal import Synchronization
internal import Testing

/// Runs `body` with a network: a proxy on a free port of 127.0.0.1, which is stopped afterwards. For XCTest, for programs, and
/// for parts of a test.
///
/// ```swift
/// func testDownload() async throws {
///     try await withNetwork(.profile("first-two-fail"), to: "127.0.0.1:8080") { network in
///         let file = try await download(network.url("/file"))
///         XCTAssertEqual(file, expected, "\(network)")
///     }
/// }
/// ```
///
/// When `body` throws, a line on standard error names the seed, and a test of Swift Testing gets the journal as an
/// attachment. Elsewhere, the environment variable `SQUALL_JOURNALS` names a folder to which every journal is written.
///
/// - Parameters:
///   - profile: The faults.
///   - upstream: The server: `host:port`, `[::1]:port` or `unix:PATH`.
///   - name: The name of the network: of a profile with several proxies, the one that counts.
///   - seed: The seed of every draw. The default is the profile's seed, or 1. The environment variable `SQUALL_SEED`
///     replaces it.
///   - expectation: What must have happened when `body` returns.
///   - isolation: The actor of `body`, which is that of the caller.
///   - body: Is given the network, which `TestNetwork.current` names as well.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, a `FaultProxyError`, or a `TestNetworkError` if the expectation isn't met.
public func withNetwork<Result>(
    _ profile: NetworkProfile,
    to upstream: String,
    named name: String = "network",
    seed: UInt64? = nil,
    expecting expectation: NetworkExpectation = .faults,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (TestNetwork) async throws -> Result
) async throws -> Result {
    try await withScope(profile, seed, expectation, isolation) { scope in
        try await body(try await scope.connect(to: upstream, named: name))
    }
}

/// Runs `body` with a profile, behind which it calls `TestProcess.start(_:)` or `TestNetwork.connect(to:)` itself. What they have started
/// is stopped afterwards.
///
/// - Parameters:
///   - profile: The faults.
///   - seed: The seed of every draw. The default is the profile's seed, or 1. The environment variable `SQUALL_SEED`
///     replaces it.
///   - expectation: What must have happened when `body` returns.
///   - isolation: The actor of `body`, which is that of the caller.
///   - body: Starts the networks and processes.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws, a `FaultProxyError`, or a `TestNetworkError` if the expectation isn't met.
public func withNetwork<Result>(
    _ profile: NetworkProfile,
    seed: UInt64? = nil,
    expecting expectation: NetworkExpectation = .faults,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
) async throws -> Result {
    try await withScope(profile, seed, expectation, isolation) { _ in try await body() }
}

private func withScope<Result>(
    _ profile: NetworkProfile,
    _ seed: UInt64?,
    _ expectation: NetworkExpectation,
    _ isolation: isolated (any Actor)?,
    _ body: (NetworkScope) async throws -> Result
) async throws -> Result {
    let scope = NetworkScope(profile, seed: try NetworkEnvironment.seed() ?? seed)
    do {
        let result = try await NetworkScope.$current.withValue(scope) { try await body(scope) }
        try await scope.check(expectation)
        await scope.stop()
        if Test.current == nil { try await JournalFiles.write(scope) }
        return result
    } catch {
        await scope.stop()
        scope.printAdvice()
        if Test.current == nil {
            // The failure of the test counts more than that of its journal.
            try? await JournalFiles.write(scope)
        } else {
            for journal in await scope.journals() { Attachment.record(journal.text, named: journal.name) }
        }
        throw error
    }
}

extension NetworkScope {
    /// Writes the advice to standard error, for a test that ends without a failure which could have it.
    func printAdvice() { FileHandle.standardError.write(Data("\(advice)\n".utf8)) }
}

/// The journals of tests that don't have attachments.
private enum JournalFiles {
    private static let count = Atomic<Int>(0)

    /// Writes the journals of a scope to the folder of `SQUALL_JOURNALS`, if it is set, each to a file of its own.
    static func write(_ scope: NetworkScope) async throws(TestNetworkError) {
        guard let folder = NetworkEnvironment.journals else { return }
        for journal in await scope.journals() {
            let number = count.add(1, ordering: .relaxed).newValue
            let process = ProcessInfo.processInfo.processIdentifier
            let path = "\(folder)/\(process)-\(number)-\(journal.name)"
            do {
                try Data(journal.text.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                throw TestNetworkError(.journal, "SQUALL_JOURNALS: the journal “\(path)” can't be written: \(error)")
            }
        }
    }
}
