internal import Foundation
import SquallProxy
internal import Synchronization

/// The networks of one run of a test with one seed.
final class NetworkScope: Sendable {
    @TaskLocal static var current: NetworkScope?

    private struct State {
        var networks: [TestNetwork] = []
        var names: Set<String> = []
    }

    let profile: NetworkProfile
    /// The seed; `nil` for the profile's, or 1.
    let seed: UInt64?
    private let state = Mutex(State())

    init(_ profile: NetworkProfile, seed: UInt64?) { (self.profile, self.seed) = (profile, seed) }

    /// The networks in the order of their connection.
    var networks: [TestNetwork] { state.withLock { $0.networks } }

    /// Starts a network. A name that is taken gets a number.
    func connect(to upstream: String, named name: String = "network") async throws -> TestNetwork {
        let unique = state.withLock { state in
            var unique = name
            var number = 1
            while !state.names.insert(unique).inserted {
                number += 1
                unique = "\(name)-\(number)"
            }
            return unique
        }
        let network = try await TestNetwork.start(profile, to: upstream, name: unique, seed: seed)
        state.withLock { $0.networks.append(network) }
        return network
    }

    /// Stops the networks; their journals stay.
    func stop() async { for network in networks { await network.stop() } }

    func check(_ expectation: NetworkExpectation) async throws(NetworkError) {
        guard expectation != .nothing else { return }
        let networks = networks
        guard let first = networks.first else {
            throw NetworkError(.vacuous, "the test has connected no network: call TestNetwork.connect(to:)")
        }
        var (connections, bytes, faults) = (0, Int64(0), 0)
        for network in networks {
            let statistics = await network.statistics
            connections += statistics.accepted + statistics.refused
            bytes += statistics.upstreamBytes + statistics.downstreamBytes
            faults += await network.faults.count
        }
        if faults > 0 { return }
        guard connections > 0 else {
            let places = networks.map(\.address).joined(separator: ", ")
            throw NetworkError(
                .vacuous,
                "no connection came to \(places), so the test shows nothing: let the client use the address of the network, "
                    + "or say expecting: .nothing"
            )
        }
        guard expectation == .faults, networks.contains(where: \.hasHadFaults) else { return }
        let notices = networks.flatMap(\.notices).map { "; \($0)" }.joined()
        throw NetworkError(
            .vacuous,
            "no fault acted (\(first); \(connections) connection\(connections == 1 ? "" : "s"), \(bytes) bytes\(notices)), so "
                + "the test shows nothing: let it transfer more, take a profile that acts sooner, or say expecting: .connections"
        )
    }

    /// The state of the networks and how to repeat the run, on a line each.
    var advice: String {
        let networks = networks
        let lines = networks.map { network in
            let name = networks.count > 1 ? "network “\(network.name)”" : "network"
            return (["\(name): \(network); SQUALL_SEED=\(network.seed) repeats it"] + network.notices)
                .joined(separator: "; ")
        }
        return lines.isEmpty ? "network: none connected" : lines.joined(separator: "\n")
    }

    func journals() async -> [(name: String, text: String)] {
        var journals: [(name: String, text: String)] = []
        for network in networks {
            let words = [profile.description, "seed \(network.seed)"] + (networks.count > 1 ? [network.name] : [])
            let name = words.joined(separator: " ").map { character -> Character in
                character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
            }
            journals.append(("\(String(name).suffix(100)).jsonl", await network.journal))
        }
        return journals
    }
}

/// The environment variables that change runs.
enum NetworkEnvironment {
    /// The seed of all runs: `SQUALL_SEED`.
    static func seed() throws(NetworkError) -> UInt64? {
        guard let text = ProcessInfo.processInfo.environment["SQUALL_SEED"], !text.isEmpty else { return nil }
        guard let seed = UInt64(text) else {
            throw NetworkError(.invalidSeed, "SQUALL_SEED is “\(text)”: write a whole number from 0 to 2⁶⁴ − 1")
        }
        return seed
    }

    /// The folder of the journals of `withNetwork`: `SQUALL_JOURNALS`.
    static var journals: String? {
        let text = ProcessInfo.processInfo.environment["SQUALL_JOURNALS"] ?? ""
        return text.isEmpty ? nil : text
    }
}
