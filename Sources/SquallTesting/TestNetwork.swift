public import FoundationEssentials
@_exported public import SquallProxy

/// The network of a test: a proxy of its own, with the faults of a profile.
public typealias TestNetwork = FaultProxy

extension FaultProxy {
    /// The network of the current test, or of the current `withNetwork`: the first that was connected.
    ///
    /// Known to the test's task and its child tasks, not to detached tasks and threads.
    ///
    /// - Throws: A `TestNetworkError` where there is none.
    public static var current: FaultProxy {
        get throws {
            guard let scope = NetworkScope.current else {
                throw TestNetworkError(
                    .noNetwork,
                    "there is no network here: give the test the trait .network(…), or use withNetwork; a detached task and "
                        + "a thread have to be handed theirs"
                )
            }
            guard let network = scope.networks.first else {
                throw TestNetworkError(
                    .noNetwork,
                    "the network has no server yet: give the trait an upstream, or call TestNetwork.connect(to:) first"
                )
            }
            return network
        }
    }

    /// Starts a network of the current test for a server that only the test knows, with the profile and the seed of its trait.
    ///
    /// It may be called for several servers; the networks are stopped when the test ends.
    ///
    /// - Parameters:
    ///   - upstream: The server: `host:port`, `[::1]:port` or `unix:PATH`. It needn't listen yet.
    ///   - name: The name in the journal, and in the seed of every draw. The default is "network", then "network-2".
    /// - Throws: A `TestNetworkError` in a test without the trait, or after its end; or a `FaultProxyError`.
    public static func connect(to upstream: String, named name: String = "network") async throws -> FaultProxy {
        guard let scope = NetworkScope.current else {
            throw TestNetworkError.noNetwork
        }
        return try await scope.connect(to: upstream, named: name)
    }
}

/// What must have happened for a test to show anything; else it fails although it has passed.
public enum NetworkExpectation: Sendable {
    /// A connection has come and a fault has acted. A connection is enough if the profiles have no faults.
    case faults
    /// A connection has come.
    case connections
    /// Nothing.
    case nothing
}

/// Why a test has no network, or shows nothing.
public struct TestNetworkError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kind of an error. Later versions may have more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name of the constant.
        public let rawValue: String

        /// A code by the name of its constant.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no network, none yet, or none any more.
        public static let noNetwork = Code(rawValue: "noNetwork")
        /// No connection came, or no fault acted.
        public static let vacuous = Code(rawValue: "vacuous")
        /// The seeds of a test are none or too many, or the environment variable `SQUALL_SEED` is no seed.
        public static let invalidSeed = Code(rawValue: "invalidSeed")
        /// A journal can't be written to the folder of the environment variable `SQUALL_JOURNALS`.
        public static let journal = Code(rawValue: "journal")
        /// The command `squall` can't be run.
        public static let noCommand = Code(rawValue: "noCommand")
        /// `squall exec` hasn't run a command.
        public static let notStarted = Code(rawValue: "notStarted")
        /// The files of a process can't be written.
        public static let files = Code(rawValue: "files")
    }

    /// The kind.
    public let code: Code
    /// The problem and the remedy.
    public let description: String
    /// The description.
    public var errorDescription: String? { description }

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    static let noNetwork = TestNetworkError(.noNetwork, "there is no network here: give the test the trait .network(…)")
    static let ended = TestNetworkError(
        .noNetwork,
        "its test has ended: wait in the test for tasks that start a network or a process"
    )
}
