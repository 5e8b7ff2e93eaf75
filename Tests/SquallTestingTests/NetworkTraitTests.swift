import SquallTesting
import Synchronization
import TestSockets
import Testing

/// The trait, used on its own tests.
@Suite(.timeLimit(.minutes(2))) struct NetworkTraitTests {
    @Test(.network(.faults([.cut(at: 40_000).on(.downstream)]), upstream: server.address))
    func `a test has a network whose faults act and are listed`() async throws {
        let network = try TestNetwork.current
        let answer = try #require(received(from: network))
        #expect(answer.bytes == Array(content.prefix(40_000)) && answer.ending == .reset)
        #expect(await network.faults.map(\.effect) == [.resets])
        #expect(await network.faults.first?.offset == 40_000)
        #expect(await network.statistics.accepted == 1)
        #expect(network.seed == 1)
    }

    @Test(.network(.profile("first-two-fail"), upstream: server.address))
    func `a shipped profile needs no path`() async throws {
        let network = try TestNetwork.current
        #expect((0..<3).map { _ in received(from: network)?.bytes.count } == [65_536, 65_536, 100_000])
        #expect(await network.faults.count == 2)
    }

    @Test(.network(.clear, upstream: server.address))
    func `the faults change on the way`() async throws {
        let network = try TestNetwork.current
        #expect(received(from: network)?.bytes.count == 100_000)
        try await network.apply(.faults([.cut(at: 5_000)]))
        #expect(received(from: network)?.bytes.count == 5_000)
        try await network.apply(.clear)
        #expect(received(from: network)?.bytes.count == 100_000)
        #expect(await network.faults.count == 1)
    }

    @Test(.network(.faults([.cut(at: 10)]), seed: 9))
    func `a server of the test itself is connected by it, and a second one too`() async throws {
        #expect(throws: TestNetworkError.self) { try TestNetwork.current }
        let (first, second) = (ByteServer([1, 2, 3]), ByteServer(content))
        let network = try await TestNetwork.connect(to: first.address)
        #expect(try TestNetwork.current === network)
        #expect(network.name == "network" && network.seed == 9)
        #expect(received(from: network)?.bytes == [1, 2, 3])
        let other = try await TestNetwork.connect(to: second.address)
        #expect(other.name == "network-2" && other.port != network.port)
        #expect(received(from: other)?.bytes.count == 10)
        #expect(try await TestNetwork.connect(to: second.address, named: "cache").name == "cache")
    }

    private static let seen = Mutex<[UInt64]>([])

    @Test(.network(.faults([.cut(at: 1)]), upstream: server.address, seeds: 4...6))
    func `a test runs once for each seed, in turn`() async throws {
        let network = try TestNetwork.current
        #expect(received(from: network)?.bytes.count == 1)
        let seen = Self.seen.withLock { seen in
            seen.append(network.seed)
            return seen
        }
        #expect(seen == Array(4...network.seed))
    }

    @Test(.network(.clear, upstream: server.address))
    func `child tasks know the network of their test, detached ones don't`() async throws {
        let network = try TestNetwork.current
        async let same = try TestNetwork.current
        #expect(try await same === network)
        let other = await Task.detached { try? TestNetwork.current }.value
        #expect(other == nil)
        #expect(received(from: network)?.bytes.count == 100_000)
    }

    @Test func `a test without the trait has no network`() async {
        let error = #expect(throws: TestNetworkError.self) { try TestNetwork.current }
        #expect(error?.code == .noNetwork)
        await #expect(throws: TestNetworkError.self) { try await TestNetwork.connect(to: server.address) }
    }
}

/// The trait of a suite is that of its tests.
@Suite(.timeLimit(.minutes(2)), .network(.faults([.cut(at: 7)]), upstream: server.address))
struct NetworkSuiteTests {
    /// Known before the test begins.
    private let network: TestNetwork

    init() throws { network = try TestNetwork.current }

    @Test(arguments: 1...4)
    func `every case has a network of its own, also at the same time`(number: Int) async throws {
        #expect(received(from: network)?.bytes.count == 7)
        #expect(await network.statistics.accepted == 1)
    }

    @Test(.network(.faults([.cut(at: 11)]), upstream: server.address))
    func `the trait of a test replaces that of its suite`() async throws {
        #expect(received(from: network)?.bytes.count == 11)
    }

    @Suite struct Inner {
        @Test func `suites within have it too`() async throws {
            #expect(try received(from: TestNetwork.current)?.bytes.count == 7)
        }
    }

    @Test(.network(.clear, upstream: server.address, expecting: .nothing))
    func `a test may expect nothing of its network`() throws {
        #expect(try TestNetwork.current === network)
    }
}
