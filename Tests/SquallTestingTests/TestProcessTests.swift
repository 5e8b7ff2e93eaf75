import Foundation
import Glibc
import SquallTesting
import TestStreams
import Testing

/// Commands behind the network of a test. `FailureTests` has those of the trait.
@Suite(.timeLimit(.minutes(2))) struct TestProcessTests {
    private static let cut = NetworkProfile.faults([.cut(at: 40_000).on(.downstream)])

    /// The command beside this program.
    private static let squall = ["SQUALL": builtSquall]

    /// Counts the bytes that come from the server, as a program that knows of no proxy.
    private static func count(_ times: Int = 1) -> [String] {
        ["bash", "-c", "for i in $(seq \(times)); do exec 3<>\(device) && cat <&3 2>&- | wc -c; done"]
    }

    @Test(.network(cut))
    func `a command meets the profile, and its end, outputs, connects and faults are told`() async throws {
        #expect(throws: TestNetworkError.self) { try TestProcess.current }
        let process = try TestProcess.start(Self.count(2), environment: Self.squall)
        #expect(try await process.end() == .exit(0), "\(process.errors)")
        #expect(process.output == "40000\n40000\n")
        #expect(process.errors.isEmpty)
        #expect(process.faults.map(\.effect) == [.resets, .resets])
        #expect(process.faults.map(\.offset) == [40_000, 40_000] && process.faults.map(\.connection) == [1, 2])
        #expect(process.faults.allSatisfy { $0.time >= .zero && $0.time < .seconds(100) })
        #expect(process.connects.map(\.target) == [server.address, server.address])
        #expect(process.connects.allSatisfy { $0.program == "bash" && $0.outcome == "connected" })
        #expect(process.name == "process" && process.seed == 1)
        #expect(process.journal.hasPrefix("{") && process.journal.contains(#""seed":1"#))
        #expect("\(process)" == "“bash” behind profile “faults”, seed 1, 2 fault events")
        #expect(try TestProcess.current === process)
    }

    @Test(.network(.json(#"{ "name": "own", "extends": "first-two-fail", "seed": 12 }"#)))
    func `several processes count connections of their own, and options narrow what meets the profile`() async throws {
        let first = try TestProcess.start(Self.count(), environment: Self.squall)
        let options = ["--except", server.address]
        let second = try TestProcess.start(Self.count(), options: options, environment: Self.squall)
        #expect(try await first.end() == .exit(0))
        #expect(try await second.end() == .exit(0))
        #expect(first.output == "65536\n" && second.output == "100000\n")
        #expect(second.name == "process-2" && second.seed == 12 && second.connects.isEmpty)
    }

    @Test func `XCTest and programs start one with withNetwork`() async throws {
        try await withNetwork(Self.cut, seed: 5) {
            let process = try TestProcess.start(Self.count(), environment: Self.squall)
            #expect(try await process.end() == .exit(0))
            #expect(process.seed == 5 && process.faults.count == 1)
        }
        await #expect(throws: TestNetworkError.self) {
            try await withNetwork(Self.cut) {
                _ = try await TestProcess.start(["true"], environment: Self.squall).end()
            }
        }
    }

    @Test(.network(.clear, expecting: .nothing))
    func `what a command has started ends with it, also in a session of its own`() async throws {
        let script = "setsid sh -c 'echo $$; exec sleep 1000' & trap '' TERM; echo $$; while :; do sleep 1000; done"
        let process = try TestProcess.start(["bash", "-c", script], environment: Self.squall)
        #expect(await eventually { process.output.split(separator: "\n").count >= 2 })
        let numbers = process.output.split(separator: "\n").compactMap { pid_t($0) }
        #expect(numbers.count == 2)
        let waiting = Task { try await process.end() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await process.stop()
        #expect(!numbers.contains { kill($0, 0) == 0 }, "its end is that of all")
    }

    @Test(.network(.clear, expecting: .nothing))
    func `a command that can't be run is an error that says why`() async throws {
        func reason(_ command: [String], _ options: [String] = []) async throws -> String {
            let process = try TestProcess.start(command, options: options, environment: Self.squall)
            let error = await #expect(throws: TestNetworkError.self) { try await process.end() }
            #expect(error?.code == .notStarted)
            return error?.description ?? ""
        }
        #expect(try await reason(["no-such-command"]).hasPrefix("can't run “no-such-command”: No such file"))
        #expect(try await reason(["true"], ["--onyl", "a"]).contains("--onyl"))
        for option in ["--seed=9", "--journal", "--version", "--"] {
            let error = #expect(throws: TestNetworkError.self) {
                try TestProcess.start(["true"], options: [option], environment: Self.squall)
            }
            #expect(error?.description.hasPrefix("options can't have “\(option)”") == true)
            let isOfTest = error?.description.contains("the seed is that of the test") == true
            #expect(isOfTest == ["--seed=9", "--journal"].contains(option))
        }
        #expect(throws: TestNetworkError.self) { try TestProcess.start([], environment: Self.squall) }
        let other = try TestProcess.start(["true"], environment: ["SQUALL": "/bin/true"])
        let wrong = await #expect(throws: TestNetworkError.self) { try await other.end() }
        #expect(wrong?.description.contains("install the same version") == true)
        // Its own codes are the command's.
        for code: Int32 in [2, 125, 127] {
            let words = ["sh", "-c", "echo Error: own >&2; exit \(code)"]
            let process = try TestProcess.start(words, environment: Self.squall)
            #expect(try await process.end() == .exit(code))
        }
        let killed = try TestProcess.start(["sh", "-c", "kill -9 $$"], environment: Self.squall)
        #expect(try await killed.end() == .signal(SIGKILL))
        let none = #expect(throws: TestNetworkError.self) {
            try TestProcess.start(["true"], environment: ["SQUALL": "/no/squall"])
        }
        #expect(none?.code == .noCommand && none?.description.contains("can't run “/no/squall”: No such file") == true)
    }

    @Test(.network(.clear, expecting: .nothing))
    func `a command that is stopped early isn't taken for a wrong installation`() async throws {
        let process = try TestProcess.start(["sleep", "1000"], environment: Self.squall)
        await process.stop()
        #expect(try await process.end() != .exit(0))
    }

    @Test(.network(.json(#"{ "name": "x", "faults": [ { "kind": "cut", "at": "1 B", "when": { "proxy": "db" } } ] }"#)))
    func `a profile whose faults are for other proxies starts none`() async throws {
        let error = #expect(throws: FaultProxyError.self) { try TestProcess.start(["true"], environment: Self.squall) }
        #expect(error?.message.contains("no fault for a proxy called “exec”, only for “db”") == true)
        let network = try await TestNetwork.connect(to: server.address, named: "db")
        #expect(received(from: network)?.bytes.count == 1)
    }

    @Test func `a test without the trait starts none`() {
        let error = #expect(throws: TestNetworkError.self) { try TestProcess.start(["true"]) }
        #expect(error?.code == .noNetwork)
    }
}
