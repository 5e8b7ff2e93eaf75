import Foundation
import TestSockets
import TestStreams
import Testing

@testable import SquallProxy

/// A proxy by the interface of the library, on loopback.
@Suite(.timeLimit(.minutes(2))) struct FaultProxyTests {
    private static let content = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 9) }
    private let server = ByteServer(content)

    private func received(from proxy: FaultProxy) -> (bytes: [UInt8], ending: StreamEnding)? {
        TestSockets.received(from: proxy.host, proxy.port)
    }

    @Test func `a connection is forwarded with the faults, which leave events and figures`() async throws {
        let cut = NetworkFault.cut(at: 40_000).on(.downstream).connections(1...1)
        let proxy = try await FaultProxy.start(.faults([cut]), to: server.address, seed: 7)
        #expect(proxy.host == "127.0.0.1" && proxy.port > 0)
        #expect(proxy.url("/x") == "http://127.0.0.1:\(proxy.port)/x" && proxy.url("x") == proxy.url("/x"))
        #expect(await proxy.faults.isEmpty)
        #expect(proxy.description == "profile “faults”, seed 7, 0 fault events")

        let first = try #require(received(from: proxy))
        #expect(first.bytes == Array(Self.content.prefix(40_000)) && first.ending == .reset)
        let second = try #require(received(from: proxy))
        #expect(second.bytes == Self.content && second.ending == .finish)

        let event = try #require(await proxy.faults.first)
        #expect(await proxy.faults.count == 1)
        #expect(event.fault == "cut" && event.effect == .resets && event.connection == 1)
        #expect(event.direction == .downstream && event.offset == 40_000 && event.request == nil)
        #expect(event.description.hasPrefix("cut resets connection 1 downstream at byte 40000, after "))
        #expect(event.time > .zero && event.time < .seconds(100))
        let statistics = await proxy.statistics
        #expect(statistics.accepted == 2 && statistics.failed == 0)
        #expect(statistics.downstreamBytes == 140_000)
        #expect(statistics.faultEvents == ["cut": 1])
        #expect(proxy.notices.isEmpty)
        await proxy.stop()
        await proxy.stop()
        #expect(await proxy.faults.count == 1, "the events stay")
        #expect(received(from: proxy) == nil, "nobody listens any more")
    }

    @Test func `a fault is added, replaced and removed by its name, and the others stay`() async throws {
        let late = NetworkFault.json(#"{ "kind": "latency", "delay": "1 ms" }"#).on(.downstream)
        let proxy = try await FaultProxy.start(.faults([late]), to: server.address)
        try await proxy.set(.cut(at: 10).on(.downstream))
        #expect(received(from: proxy)?.bytes.count == 10)
        try await proxy.set(.cut(at: 20).on(.downstream))
        #expect(received(from: proxy)?.bytes.count == 20)
        await #expect(throws: FaultProxyError.self) { try await proxy.set(.cut(at: -1)) }
        #expect(try await proxy.remove(fault: "cut"))
        #expect(try await !proxy.remove(fault: "cut"))
        #expect(received(from: proxy)?.bytes.count == 100_000)
        #expect(proxy.description.hasPrefix("profile “faults, changed”"))
        let statistics = await proxy.statistics
        #expect(statistics.faultEvents["cut"] == 2)
        await proxy.stop()
    }

    @Test func `changes at the same time all hold`() async throws {
        let proxy = try await FaultProxy.start(.faults([]), to: server.address)
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask { try await proxy.set(.latency(.milliseconds(number)).named("late-\(number)")) }
            }
            try await group.waitForAll()
        }
        for number in 0..<20 {
            let isRemoved = try await proxy.remove(fault: "late-\(number)")
            #expect(isRemoved)
        }
        await proxy.stop()
    }

    @Test func `faults change while a proxy runs`() async throws {
        let proxy = try await FaultProxy.start(.clear, to: server.address)
        #expect(received(from: proxy)?.bytes.count == 100_000)
        try await proxy.apply(.faults([.cut(at: 10)]))
        #expect(received(from: proxy)?.bytes.count == 10)
        await #expect(throws: FaultProxyError.self) { try await proxy.apply(.profile("none-of-this-name")) }
        try await proxy.apply(.clear)
        #expect(received(from: proxy)?.bytes.count == 100_000)
        let journal = await proxy.journal.split(separator: "\n")
        #expect(journal.count == 4, "a header, two profiles and a cut: \(journal)")
        #expect(journal.count { $0.contains(#""event":"profile""#) } == 2)
        await proxy.stop()
        let (last, name) = (await proxy.journal, proxy.description)
        await #expect(throws: FaultProxyError.stopped) { try await proxy.apply(.faults([.cut(at: 5)])) }
        await #expect(throws: FaultProxyError.stopped) { try await proxy.set(.cut(at: 5)) }
        await #expect(throws: FaultProxyError.stopped) { try await proxy.remove(fault: "cut") }
        await #expect(throws: FaultProxyError.stopped) { try await proxy.enter(phase: "gone") }
        #expect(await proxy.journal == last)
        #expect(proxy.description == name)
    }

    @Test func `faults that are all for proxies of other names are a mistake`() async throws {
        let profile = NetworkProfile.json(
            #"""
            { "name": "two", "proxies": [
                { "name": "api", "listen": "127.0.0.1:1", "upstream": "127.0.0.1:2", "faults": [ { "kind": "cut", "at": "7 B" } ] },
                { "name": "db", "listen": "127.0.0.1:3", "upstream": "127.0.0.1:4" } ] }
            """#
        )
        let other = await #expect(throws: FaultProxyError.self) {
            try await FaultProxy.start(profile, to: server.address)
        }
        #expect(other?.code == .invalidProfile)
        #expect(other?.message.contains("no fault for a proxy called “network”, only for “api”, “db”") == true)
        let clear = try await FaultProxy.start(profile, to: server.address, name: "db")
        #expect(received(from: clear)?.bytes.count == 100_000)
        let proxy = try await FaultProxy.start(.clear, to: server.address)
        await #expect(throws: FaultProxyError.self) { try await proxy.apply(profile) }
        let cut = try await FaultProxy.start(.clear, to: server.address, name: "api")
        try await cut.apply(profile)
        #expect(received(from: cut)?.bytes.count == 7)
        for proxy in [clear, proxy, cut] { await proxy.stop() }
    }

    @Test func `the phases of a profile are entered when a test wants it`() async throws {
        let profile = NetworkProfile.json(
            #"""
            { "name": "two", "phases": [
                { "name": "fine", "for": "1 h" },
                { "name": "gone", "for": "1 h", "faults": [ { "kind": "outage", "how": "refuse" } ] } ] }
            """#
        )
        let proxy = try await FaultProxy.start(profile, to: server.address)
        #expect(proxy.phase == "fine")
        #expect(received(from: proxy)?.bytes.count == 100_000)
        try await proxy.pausePhases()
        try await proxy.enter(phase: "gone")
        #expect(proxy.phase == "gone")
        #expect(received(from: proxy) == nil)
        try await proxy.restartPhases()
        try await proxy.resumePhases()
        #expect(proxy.phase == "fine")
        #expect(received(from: proxy)?.bytes.count == 100_000)
        let error = await #expect(throws: FaultProxyError.self) { try await proxy.enter(phase: "away") }
        #expect(error?.code == .unknownPhase)
        await proxy.stop()
    }

    @Test func `an open connection is listed, and can be ended`() async throws {
        let proxy = try await FaultProxy.start(.faults([.stall(at: 50_000, for: .seconds(600))]), to: server.address)
        async let client = Task.detached { [host = proxy.host, port = proxy.port] in
            TestSockets.received(from: host, port)
        }.value
        var connection: ProxyConnection?
        while connection?.downstreamBytes != 50_000 { connection = await proxy.connections.first }
        #expect(connection?.number == 1 && connection?.faults == ["stall"])
        #expect(connection?.client?.hasPrefix("127.0.0.1:") == true)
        #expect(await proxy.endConnection(1))
        #expect(await client?.bytes.count == 50_000)
        #expect(await !proxy.endConnection(1))
        #expect(await proxy.statistics.open == 0)
        await proxy.stop()
    }

    @Test func `a server that isn't there is a notice`() async throws {
        let (socket, address) = TestSocket.refusing()
        let proxy = try await FaultProxy.start(.clear, to: "\(address)")
        #expect(received(from: proxy)?.ending == .reset)
        #expect(received(from: proxy)?.ending == .reset)
        #expect(await proxy.statistics.failed == 2)
        #expect(proxy.notices.count == 1, "each once")
        #expect(proxy.notices.first?.contains("can't reach the upstream \(address): Connection refused") == true)
        await proxy.stop()
        socket.close()
    }

    @Test func `what can't start says why`() async throws {
        func code(
            _ profile: NetworkProfile = .clear,
            to upstream: String = "127.0.0.1:9",
            listen: String = "127.0.0.1:0"
        ) async -> FaultProxyError.Code? {
            await #expect(throws: FaultProxyError.self) {
                try await FaultProxy.start(profile, to: upstream, listen: listen)
            }?.code
        }
        #expect(await code(to: "localhost") == .invalidAddress)
        let wrong = await #expect(throws: FaultProxyError.self) {
            try await FaultProxy.start(.clear, to: server.address, listen: "8080")
        }
        #expect(wrong?.message.hasPrefix("listen: ") == true && wrong?.errorDescription == wrong?.message)
        #expect(await code(to: "127.0.0.1:9", listen: "8080") == .invalidAddress)
        #expect(await code(.json("{}")) == .invalidProfile)
        #expect(await code(to: "no-such-host.invalid:80") == .unresolved)
        #expect(await code(listen: server.address) == .cannotListen)
    }

    @Test func `a proxy that nobody holds stops`() async throws {
        var proxy: FaultProxy? = try await FaultProxy.start(.clear, to: server.address)
        let (host, port) = (try #require(proxy?.host), try #require(proxy?.port))
        #expect(TestSockets.received(from: host, port)?.bytes.count == 100_000)
        proxy = nil
        #expect(await eventually { TestSockets.received(from: host, port) == nil })
    }

    @Test func `a seed repeats the faults, and another has others`() async throws {
        let profile = NetworkProfile.json(
            #"{ "name": "x", "faults": [ { "kind": "cut", "stream": "downstream", "between": ["1 B", "99 KB"] } ] }"#
        )
        func offsets(_ seed: UInt64?) async throws -> [Int64?] {
            let proxy = try await FaultProxy.start(profile, to: server.address, seed: seed)
            for _ in 0..<4 { _ = received(from: proxy) }
            await proxy.stop()
            return await proxy.faults.map(\.offset)
        }
        let first = try await offsets(5)
        #expect(first.count == 4)
        #expect(try await offsets(5) == first)
        #expect(try await offsets(6) != first)
        #expect(try await offsets(nil) == offsets(1))
    }
}
