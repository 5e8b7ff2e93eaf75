import EventLoop
import FaultPlan
import Glibc
import OperatingSystem
import TestSockets
import TestStreams
import Testing
import Units

@testable import FaultProfile
@testable import ProxyEngine

/// Connections whose ends go away while a fault, or a server, keeps them from ending.
struct DrainTests {
    /// A state in which a connection stays for an hour if nobody looks after it.
    enum Held: CaseIterable {
        case hanging, named, delayed, connecting, slow, stalled, closing, blackholed

        var kind: FaultKind? {
            let hour = Duration.seconds(3_600)
            return switch self {
            case .hanging, .named: .connect(Connect(how: .hang))
            case .delayed: .connect(Connect(how: .delay(hour, jitter: .zero)))
            case .connecting: nil
            case .slow: .latency(Latency(delay: hour))
            case .stalled: .stall(Stall(at: .zero, duration: hour))
            case .closing: .slowClose(SlowClose(delay: hour))
            case .blackholed: .outage(Outage(how: .silence))
            }
        }

        /// The fault on connections that are picked by their numbers, so that they are accepted.
        func profile(on connections: ConnectionSelection = .every(1)) throws -> Profile {
            guard let kind else { return Profile(name: "plain") }
            var condition = Condition(connections: connections)
            if self == .named { condition.hosts = [try HostPattern(parsing: "a.example")] }
            return Profile(name: "test", faults: [Fault(name: "held", condition: condition, kind: kind)])
        }
    }

    /// What clients send, which names a host.
    private static let request = Array("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n".utf8)

    /// Limits that let a test end.
    private static var soon: DrainLimits {
        var limits = DrainLimits()
        limits.lookInterval = .milliseconds(10)
        limits.goneGrace = .milliseconds(30)
        limits.blackholeGrace = .milliseconds(30)
        limits.probeSeconds = 1
        return limits
    }

    /// A proxy that holds its connections, to a server that never accepts.
    private func withHeld(
        _ held: Held,
        _ limits: DrainLimits = DrainTests.soon,
        _ body: (Fixture) async throws -> Void
    ) async throws {
        let (listener, address) = TestSocket.listening()
        defer { listener.close() }
        if held == .connecting { listener.dropPackets() }
        try await withProxy(
            to: address,
            try held.profile(),
            connectTimeout: .seconds(3_600),
            drainLimits: limits,
            body
        )
    }

    @Test(arguments: Held.allCases)
    func `a client that resets is let go in every state`(held: Held) async throws {
        try await withHeld(held) { fixture in
            let client = try fixture.client()
            try client.send(DrainTests.request)
            let isOpen = await fixture.becomes { $0.open == 1 }
            #expect(isOpen)
            client.resetAtClose()
            client.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test(arguments: Held.allCases)
    func `a client that has closed is let go, and one that goes on receiving isn't`(held: Held) async throws {
        try await withHeld(held) { fixture in
            let waiting = try fixture.client()
            try waiting.send(DrainTests.request)
            waiting.endWriting()
            let leaving = try fixture.client()
            leaving.isForgottenSoon()
            try leaving.send(DrainTests.request)
            let isOpen = await fixture.becomes { $0.accepted == 2 }
            #expect(isOpen)
            leaving.close()
            let isAlone = await fixture.becomes { $0.open == 1 }
            #expect(isAlone)
            #expect(waiting.isQuiet)
        }
    }

    @Test(arguments: [Held.hanging, .named, .stalled, .blackholed])
    func `a client that nobody reads is let go at the limit, because its end may never be seen`(held: Held)
        async throws
    {
        var limits = DrainTests.soon
        limits.limit = .milliseconds(100)
        try await withHeld(held, limits) { fixture in
            let client = try fixture.client()
            try client.send(DrainTests.request)
            #expect(try await blocking { client.receiveAll().ending } == .reset)
            #expect(await fixture.becomesIdle())
        }
    }

    @Test func `in a silent outage a server isn't told that its client is gone, and the last of both ends it`()
        async throws
    {
        let sockets = Slot<TestSocket>()
        let server = TestServer { sockets.put($0) }
        defer { server.stop() }
        var limits = DrainLimits()
        limits.lookInterval = .milliseconds(10)
        try await withProxy(to: server.address, try Held.blackholed.profile(), drainLimits: limits) { fixture in
            let first = try fixture.client()
            let firstServed = try await blocking { try sockets.next() }
            let second = try fixture.client()
            let secondServed = try await blocking { try sockets.next() }
            for socket in [first, second, secondServed] {
                socket.resetAtClose()
                socket.close()
            }
            let isAlone = await fixture.becomes { $0.open == 1 }
            #expect(isAlone)
            #expect(firstServed.isQuiet)
            firstServed.resetAtClose()
            firstServed.close()
            let isIdle = await fixture.becomesIdle()
            #expect(isIdle)
        }
    }

    @Test func `a client that waits for bytes keeps them, though the server that sent them is gone`() async throws {
        let server = TestServer { socket in
            socket.isForgottenSoon()
            try socket.send([1, 2, 3])
        }
        defer { server.stop() }
        let stall = FaultKind.stall(Stall(at: ByteCount(1), duration: .milliseconds(2_500)))
        try await withProxy(to: server.address, Profile([stall], on: .downstream), drainLimits: DrainTests.soon) {
            fixture in
            let client = try fixture.client()
            client.endWriting()
            let (bytes, ending) = try await blocking { client.receiveAll() }
            #expect(bytes == [1, 2, 3])
            #expect(ending == .finish)
        }
    }

    @Test func `at the limit of connections, clients that gave up in an outage make room for the next`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        let profile = try Held.blackholed.profile(on: .range(1...100))
        try await withProxy(to: server.address, profile, connectionLimit: 8) { fixture in
            // One that is refused, because the proxy hasn't seen yet that others have left, is followed by another.
            let haveLeft = await fixture.becomes { statistics in
                guard statistics.accepted < 100 else { return true }
                if let client = try? fixture.client() { try? client.send([1]) }
                return false
            }
            #expect(haveLeft)
            let answer = try await fixture.answer()
            #expect(answer == [7])
            let open = await fixture.proxy.statistics().open
            #expect(open <= 8)
        }
    }

    @Test func `a client that is there isn't released at the limit`() async throws {
        let server = TestServer.echo()
        defer { server.stop() }
        try await withProxy(to: server.address, try Held.blackholed.profile(), connectionLimit: 2) { fixture in
            let clients = try (0..<2).map { _ in try fixture.client() }
            let isFull = await fixture.becomes { $0.open == 2 }
            #expect(isFull)
            let ending = try await blocking { try fixture.client().receiveAll().ending }
            #expect(ending == .reset)
            let event = try await blocking { try fixture.events.next() }
            #expect(event == .connectionLimitReached(2))
            let areQuiet = clients.allSatisfy { $0.isQuiet }
            #expect(areQuiet)
        }
    }

    @Test func `clients that gave up make room for others where descriptors are short, and all are given back`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let (listener, address) = TestSocket.listening(backlog: 1_024)
            let before = openSocketCount()
            let loops = 2
            try await withProxy(to: address, try Held.blackholed.profile(), threads: loops) { fixture in
                var limit = rlimit(rlim_cur: 0, rlim_max: 0)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                getrlimit(resource, &limit)
                // The lowest free descriptor is the first that the limit keeps from being opened, 60 further on.
                let next = dup(0)
                close(next)
                limit.rlim_cur = rlim_t(next) + 60
                setrlimit(resource, &limit)
                var held: [TestSocket] = []
                // Where the proxy has taken the descriptors that a client needs, it has a turn before the next tries.
                var sent = 0
                let areSent = await fixture.becomes { _ in
                    if sent < 400, case .success(let client) = TestSocket.connected(to: fixture.proxy.address) {
                        try? client.send([UInt8(sent & 255)])
                        held.append(client)
                        sent += 1
                        if held.count == 10 { held.removeAll() }
                    } else {
                        held.removeAll()
                    }
                    return sent == 400
                }
                #expect(areSent)
                held.removeAll()
                let areAccepted = await fixture.becomes { $0.accepted >= 350 && $0.open < 30 }
                #expect(areAccepted)
                let isUnreachable = fixture.events.rest.contains { event in
                    if case .upstreamUnreachable = event { true } else { false }
                }
                #expect(!isUnreachable)
            }
            #expect(openSocketCount() == before)
            listener.close()
        }
    }

    @Test func `a Unix listener without a descriptor to listen again has clients that gave up released`()
        async throws
    {
        await #expect(processExitsWith: .success) {
            let folder = try Folder()
            let (listener, server) = TestSocket.listening()
            defer { listener.close() }
            let listen = Endpoint(unix: try #require(folder.address("proxy").unix))
            let silent = try Held.blackholed.profile()
            try await withProxy(to: server, silent, threads: 1, listen: listen) { fixture in
                let address = fixture.proxy.address
                let clients = try (0..<4).map { _ in try fixture.client() }
                for client in clients { client.endWriting() }
                #expect(await fixture.becomes { $0.open == 4 })
                var refusing = silent
                refusing.faults.append(Fault(name: "refused", kind: .connect(Connect(how: .refuse))))
                try await fixture.proxy.apply(refusing)
                #expect(TestSocket.errnoOfConnecting(to: address) == ECONNREFUSED)
                var limit = rlimit(rlim_cur: 0, rlim_max: 0)
                let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
                getrlimit(resource, &limit)
                // The lowest free descriptor is the first that is reserved.
                let next = dup(0)
                close(next)
                limit.rlim_cur = rlim_t(next) + 16
                setrlimit(resource, &limit)
                try await fixture.proxy.apply(silent)
                #expect(await fixture.becomes { _ in TestSocket.errnoOfConnecting(to: address) == 0 })
                let failures = fixture.events.rest.filter { event in
                    if case .cannotListenAgain(let error) = event { error.code == EMFILE } else { false }
                }
                #expect(!failures.isEmpty)
                withExtendedLifetime(clients) {}
            }
        }
    }
}

extension Fixture {
    /// What a client gets back, however often it has to try.
    fileprivate func answer() async throws -> [UInt8] {
        try await eventualValue {
            try await blocking {
                guard case .success(let client) = TestSocket.connected(to: proxy.address) else { return nil }
                guard (try? client.send([7])) != nil, let bytes = try? client.receive(1) else { return nil }
                return bytes.isEmpty ? nil : bytes
            }
        } ?? []
    }
}
