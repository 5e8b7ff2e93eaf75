import TestSockets
import Testing

@testable import SquallTesting

/// The function for XCTest and anybody.
@Suite(.timeLimit(.minutes(2))) struct WithNetworkTests {
    /// What the functions of XCTest capture isn't Sendable.
    private final class Counter {
        var bytes = 0
    }

    @Test func `a network is there for its body, and gone afterwards`() async throws {
        let counter = Counter()
        let network = try await withNetwork(.faults([.cut(at: 40)]), to: server.address, seed: 7) { network in
            #expect(try TestNetwork.current === network)
            counter.bytes = try #require(received(from: network)).bytes.count
            return network
        }
        #expect(counter.bytes == 40 && network.seed == 7)
        #expect(received(from: network) == nil)
        #expect(await network.faults.count == 1)
    }

    @Test func `a task that outlives the body starts nothing any more`() async throws {
        let (gate, opened) = AsyncStream<Void>.makeStream()
        let task = try await withNetwork(.clear, expecting: .nothing) {
            Task {
                for await _ in gate {}
                await #expect(throws: TestNetworkError.ended) { try await TestNetwork.connect(to: server.address) }
                #expect(throws: TestNetworkError.ended) { try TestProcess.start(["sleep", "1000"]) }
            }
        }
        opened.finish()
        await task.value
    }

    @Test func `a network has the faults of the proxy of its name`() async throws {
        let text = #"{ "name": "x", "faults": [ { "kind": "cut", "at": "9 B", "when": { "proxy": "db" } } ] }"#
        try await withNetwork(.json(text), to: server.address, named: "db") { network in
            #expect(received(from: network)?.bytes.count == 9)
        }
        await #expect(throws: FaultProxyError.self) { try await withNetwork(.json(text), to: server.address) { _ in } }
    }

    @MainActor @Test func `the body stays on its actor`() async throws {
        try await withNetwork(.clear, to: server.address) { network in
            MainActor.assertIsolated()
            _ = received(from: network)
        }
    }

    @Test func `what shows nothing is an error that says why`() async throws {
        func failure(
            _ profile: NetworkProfile,
            expecting expectation: NetworkExpectation = .faults,
            connects: Bool = true
        ) async -> String? {
            let error = await #expect(throws: TestNetworkError.self) {
                try await withNetwork(profile, to: server.address, expecting: expectation) { network in
                    if connects { _ = received(from: network) }
                }
            }
            #expect(error?.code == .vacuous)
            return error?.description
        }
        let late = NetworkProfile.faults([.cut(at: 1_000_000)])
        #expect(await failure(late)?.contains("no fault acted") == true)
        #expect(await failure(late)?.contains("1 connection, 100000 bytes") == true)
        #expect(await failure(late, connects: false)?.contains("no connection came to 127.0.0.1:") == true)
        #expect(await failure(.clear, expecting: .connections, connects: false) != nil)
        let answer = NetworkProfile.faults([.json(#"{ "kind": "http", "answer": { "status": 503 } }"#)])
        #expect(await failure(answer)?.contains("so faults of HTTP messages can't act on it") == true)
        try await withNetwork(late, to: server.address, expecting: .connections) { _ = received(from: $0) }
        try await withNetwork(late, to: server.address, expecting: .nothing) { _ in }
    }

    @Test func `an error of the body is thrown as it is`() async {
        struct Broken: Error {}
        await #expect(throws: Broken.self) {
            try await withNetwork(.clear, to: server.address) { _ in throw Broken() }
        }
    }

    @Test func `a profile with problems is an error with their places`() async {
        let error = await #expect(throws: FaultProxyError.self) {
            try await withNetwork(.json(#"{ "name": "x", "fault": [] }"#), to: server.address) { _ in }
        }
        #expect(error?.problems.first?.line == 1)
        #expect(error?.message.contains("WithNetworkTests.swift line") == true)
    }
}
