public import SquallProxy
public import Testing

/// Gives each case of a test a network of its own. Made by `.network(…)`.
public struct NetworkTrait: TestTrait, SuiteTrait, TestScoping {
    /// The most seeds of a test: 1,000.
    public static let seedLimit = 1_000

    /// Tells traits apart that are alike.
    private final class Identity: Sendable {}

    private let profile: NetworkProfile
    private let subject: NetworkSubject
    /// The seeds in digits, one after the other; `nil` for the profile's, or 1.
    private let seeds: [String]?
    private let expectation: NetworkExpectation
    private let identity = Identity()

    init(_ profile: NetworkProfile, _ subject: NetworkSubject, _ seeds: [String]?, _ expectation: NetworkExpectation) {
        self.profile = profile
        self.subject = subject
        self.seeds = seeds
        self.expectation = expectation
    }

    /// A suite gives the trait to all its tests.
    public var isRecursive: Bool { true }

    /// The trait itself for a case of a test, unless a trait nearer to the test replaces it.
    public func scopeProvider(for test: Test, testCase: Test.Case?) -> NetworkTrait? {
        let last = test.traits.compactMap { $0 as? NetworkTrait }.last
        return testCase != nil && last?.identity === identity ? self : nil
    }

    /// Runs a case of a test once for each seed, with networks that are stopped afterwards. A failure with one seed doesn't
    /// keep the next from running.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try profile.check()
        for seed in try wantedSeeds() {
            let run = NetworkRun(NetworkScope(profile, seed: seed), subject, expecting: expectation)
            try await run.perform(test, testCase, function)
        }
    }

    private func wantedSeeds() throws(TestNetworkError) -> [UInt64?] {
        if let seed = try NetworkEnvironment.seed() { return [seed] }
        guard let seeds else { return [nil] }
        guard !seeds.isEmpty, seeds.count <= NetworkTrait.seedLimit else {
            let remedy = "give from 1 to \(NetworkTrait.seedLimit), such as 1...3"
            throw TestNetworkError(.invalidSeed, "the test has \(seeds.isEmpty ? "no" : "too many") seeds: \(remedy)")
        }
        return try seeds.map { text throws(TestNetworkError) in
            guard let seed = UInt64(text) else {
                throw TestNetworkError(.invalidSeed, "the seed \(text) is none: give a number from 0 to 2⁶⁴ − 1")
            }
            return seed
        }
    }
}

extension Trait where Self == NetworkTrait {
    /// Runs the test behind a network: a proxy on a free port of 127.0.0.1, which `TestNetwork.current` names.
    ///
    /// ```swift
    /// @Test(.network(.profile("first-two-fail"), upstream: "127.0.0.1:8080"))
    /// func `a download survives two cuts`() async throws {
    ///     let network = try TestNetwork.current
    ///     let file = try await download(network.url("/file"))
    ///     #expect(file == expected)
    ///     #expect(await network.faults.count == 2)
    /// }
    /// ```
    ///
    /// Each test, and each case of a test with arguments, has its own, so tests may run in parallel. On a suite the trait
    /// is that of all its tests; a trait of a test replaces it. A failure gets the seed as a comment, and the journal as an
    /// attachment.
    ///
    /// - Parameters:
    ///   - profile: The faults. A profile with problems fails the test, with the line and column of each.
    ///   - upstream: The server: `host:port`, `[::1]:port` or `unix:PATH`. Without one, the test calls
    ///     `TestNetwork.connect(to:)`.
    ///   - name: The name of that network: of a profile with several proxies, the one that counts.
    ///   - seed: The seed of every draw. The default is the profile's seed, or 1. The environment variable `SQUALL_SEED`
    ///     replaces it.
    ///   - expectation: What must have happened, else a passed test fails as vacuous.
    public static func network(
        _ profile: NetworkProfile,
        upstream: String? = nil,
        named name: String = "network",
        seed: UInt64? = nil,
        expecting expectation: NetworkExpectation = .faults
    ) -> Self {
        NetworkTrait(profile, upstream.map { .upstream($0, name: name) } ?? .none, seed.map { ["\($0)"] }, expectation)
    }

    /// Runs the test once for each seed, one after the other: for `seeds: 1...3` with three networks in turn.
    ///
    /// The time limit of the test is that of all its seeds together.
    ///
    /// - Parameters:
    ///   - profile: The faults.
    ///   - upstream: The server; without one, the test calls `TestNetwork.connect(to:)`.
    ///   - name: The name of that network.
    ///   - seeds: The seeds, from 1 to 1,000 of them, each from 0 to 2⁶⁴ − 1. The environment variable `SQUALL_SEED` replaces them all.
    ///   - expectation: What must have happened with each seed, else a passed test fails as vacuous.
    public static func network(
        _ profile: NetworkProfile,
        upstream: String? = nil,
        named name: String = "network",
        seeds: some Sequence<some BinaryInteger>,
        expecting expectation: NetworkExpectation = .faults
    ) -> Self {
        NetworkTrait(profile, upstream.map { .upstream($0, name: name) } ?? .none, digits(of: seeds), expectation)
    }

    /// Starts a command behind a network before the test, which `TestProcess.current` names: every TCP connection that it opens,
    /// or a process that it starts, meets the profile. It is ended after the test.
    ///
    /// ```swift
    /// @Test(.network(.profile("wifi-roam"), command: ["npm", "test"]))
    /// func `the suite holds while the network roams`() async throws {
    ///     #expect(try await TestProcess.current.end() == .exit(0))
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - profile: The faults.
    ///   - command: The command, a path or a name in PATH, and its arguments; `squall exec` runs it.
    ///   - options: Options of `squall exec`: `["--only", ":5432"]`.
    ///   - seed: The seed of every draw. The default is the profile's seed, or 1. The environment variable `SQUALL_SEED`
    ///     replaces it.
    ///   - expectation: What must have happened, else a passed test fails as vacuous.
    public static func network(
        _ profile: NetworkProfile,
        command: [String],
        options: [String] = [],
        seed: UInt64? = nil,
        expecting expectation: NetworkExpectation = .faults
    ) -> Self {
        NetworkTrait(profile, .command(command, options: options), seed.map { ["\($0)"] }, expectation)
    }

    /// Starts a command behind a network once for each seed, and runs the test with it.
    ///
    /// - Parameters:
    ///   - profile: The faults.
    ///   - command: The command, a path or a name in PATH, and its arguments; `squall exec` runs it.
    ///   - options: Options of `squall exec`.
    ///   - seeds: The seeds, from 1 to 1,000 of them, each from 0 to 2⁶⁴ − 1. The environment variable `SQUALL_SEED` replaces them all.
    ///   - expectation: What must have happened with each seed, else a passed test fails as vacuous.
    public static func network(
        _ profile: NetworkProfile,
        command: [String],
        options: [String] = [],
        seeds: some Sequence<some BinaryInteger>,
        expecting expectation: NetworkExpectation = .faults
    ) -> Self {
        NetworkTrait(profile, .command(command, options: options), digits(of: seeds), expectation)
    }

    /// The seeds in digits. One more than allowed tells that there are too many.
    private static func digits(of seeds: some Sequence<some BinaryInteger>) -> [String] {
        seeds.prefix(NetworkTrait.seedLimit + 1).map { "\($0)" }
    }
}
