internal import Foundation
import SquallProxy
internal import Synchronization

/// The networks and the processes of one run of a test with one seed.
final class NetworkScope: Sendable {
    @TaskLocal static var current: NetworkScope?

    private struct State {
        var networks: [TestNetwork] = []
        var processes: [TestProcess] = []
        var names: Set<String> = []
        var isStopped = false

        /// The name, with a number if it is taken.
        mutating func unique(_ name: String) -> String {
            var unique = name
            var number = 1
            while !names.insert(unique).inserted {
                number += 1
                unique = "\(name)-\(number)"
            }
            return unique
        }
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
        let unique = try uniqueName(name)
        let network = try await TestNetwork.start(profile, to: upstream, name: unique, seed: seed)
        guard isAdded({ $0.networks.append(network) }) else {
            await network.stop()
            throw TestNetworkError.ended
        }
        return network
    }

    /// The processes in the order of their starts.
    var processes: [TestProcess] { state.withLock { $0.processes } }

    /// Starts a process.
    @discardableResult
    func start(_ command: [String], options: [String], environment: [String: String]) throws -> TestProcess {
        let name = try uniqueName("process")
        let process = try TestProcess(
            command,
            behind: profile,
            seed: seed,
            name: name,
            options: options,
            environment: environment
        )
        guard isAdded({ $0.processes.append(process) }) else {
            process.terminate()
            throw TestNetworkError.ended
        }
        return process
    }

    /// The name, with a number if it is taken.
    ///
    /// - Throws: A `TestNetworkError` after `stop`.
    private func uniqueName(_ name: String) throws(TestNetworkError) -> String {
        let unique = state.withLock { $0.isStopped ? nil : $0.unique(name) }
        guard let unique else { throw .ended }
        return unique
    }

    /// Adds what has been started, unless `stop` came before it.
    private func isAdded(_ add: (inout State) -> Void) -> Bool {
        state.withLock { state in
            if !state.isStopped { add(&state) }
            return !state.isStopped
        }
    }

    /// Stops the processes and the networks; their journals stay. None is started afterwards.
    func stop() async {
        state.withLock { $0.isStopped = true }
        for process in processes { await process.stop() }
        for network in networks { await network.stop() }
    }

    func check(_ expectation: NetworkExpectation) async throws(TestNetworkError) {
        guard expectation != .nothing else { return }
        let (networks, processes) = (networks, processes)
        guard !networks.isEmpty || !processes.isEmpty else {
            throw TestNetworkError(
                .vacuous,
                "the test has connected no network and started no process: call TestNetwork.connect(to:) or "
                    + "TestProcess.start(_:)"
            )
        }
        var (connections, bytes, faults) = (0, Int64(0), 0)
        for network in networks {
            let statistics = await network.statistics
            connections += statistics.accepted + statistics.refused
            bytes += statistics.upstreamBytes + statistics.downstreamBytes
            faults += await network.faults.count
        }
        for process in processes {
            connections += process.connects.count
            faults += process.faults.count
        }
        if faults > 0 { return }
        guard connections > 0 else {
            let places = networks.map { "to \($0.address)" } + processes.map { "from “\($0.command[0])”" }
            let remedy =
                networks.isEmpty
                ? "wait for its end with end(), let it connect" : "let the client use the address of the network"
            throw TestNetworkError(
                .vacuous,
                "no connection came \(places.joined(separator: ", ")), so the test shows nothing: \(remedy), or say "
                    + "expecting: .nothing"
            )
        }
        guard expectation == .faults,
            networks.contains(where: \.hasHadFaults) || processes.contains(where: \.hasHadFaults)
        else { return }
        let state = networks.first.map { "\($0); " } ?? ""
        let figures = networks.isEmpty ? "" : ", \(bytes) bytes"
        let notices = networks.flatMap(\.notices).map { "; \($0)" }.joined()
        throw TestNetworkError(
            .vacuous,
            "no fault acted (\(state)\(connections) connection\(connections == 1 ? "" : "s")\(figures)\(notices)), so "
                + "the test shows nothing: let it transfer more, take a profile that acts sooner, or say expecting: .connections"
        )
    }

    /// The state of the networks and processes, and how to repeat the run, on a line each.
    var advice: String {
        let (networks, processes) = (networks, processes)
        let isOne = networks.count + processes.count == 1
        let lines =
            networks.map { network in
                let name = isOne ? "network" : "network “\(network.name)”"
                return (["\(name): \(network); SQUALL_SEED=\(network.seed) repeats it"] + network.notices)
                    .joined(separator: "; ")
            }
            + processes.map { process in
                let name = isOne ? "process" : "process “\(process.name)”"
                let last = process.errors.split(separator: "\n").last.map { "; it has said: \($0)" } ?? ""
                return "\(name): \(process); SQUALL_SEED=\(process.seed) repeats it\(last)"
            }
        return lines.isEmpty ? "network: none connected" : lines.joined(separator: "\n")
    }

    func journals() async -> [(name: String, text: String)] {
        var journals: [(name: String, seed: UInt64, text: String)] = []
        for network in networks { journals.append((network.name, network.seed, await network.journal)) }
        for process in processes { journals.append((process.name, process.seed, process.journal)) }
        return journals.map { [isOne = journals.count == 1] name, seed, text in
            let words = [profile.description, "seed \(seed)"] + (isOne ? [] : [name])
            let name = words.joined(separator: " ").map { character -> Character in
                character.isASCII && (character.isLetter || character.isNumber) ? character : "-"
            }
            return ("\(String(name).suffix(100)).jsonl", text)
        }
    }
}

/// The environment variables that change runs.
enum NetworkEnvironment {
    /// The seed of all runs: `SQUALL_SEED`.
    static func seed() throws(TestNetworkError) -> UInt64? {
        guard let text = ProcessInfo.processInfo.environment["SQUALL_SEED"], !text.isEmpty else { return nil }
        guard let seed = UInt64(text) else {
            throw TestNetworkError(.invalidSeed, "SQUALL_SEED is “\(text)”: write a whole number from 0 to 2⁶⁴ − 1")
        }
        return seed
    }

    /// The folder of the journals of `withNetwork`: `SQUALL_JOURNALS`.
    static var journals: String? {
        let text = ProcessInfo.processInfo.environment["SQUALL_JOURNALS"] ?? ""
        return text.isEmpty ? nil : text
    }
}
